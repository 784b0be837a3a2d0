#include "cel/device_facts.h"

#include <utility>

#include "base/text.h"

namespace tessera::cel {
namespace {

// Domain and id.
std::pair<std::string, std::string> SplitName(std::string_view name, const DeviceFacts& device) {
  const auto parts = Cut(name, "/");
  if (!parts) return {device.driver, std::string(name)};
  return {std::string(parts->first), std::string(parts->second)};
}

}  // namespace

void AddAttribute(DeviceFacts& device, std::string_view name, AttributeValue value) {
  auto [domain, id] = SplitName(name, device);
  device.attributes.push_back({std::move(domain), std::move(id), std::move(value)});
}

void AddCapacity(DeviceFacts& device, std::string_view name, Quantity value) {
  auto [domain, id] = SplitName(name, device);
  device.capacity.push_back({std::move(domain), std::move(id), std::move(value)});
}

void AddVersion(DeviceFacts& device, std::string_view name, std::string_view text) {
  auto version = Semver::Parse(text);
  if (version) return AddAttribute(device, name, *std::move(version));
  device.fault = Format("attribute {}: parse semantic version: {}", name, version.error().message());
}

}  // namespace tessera::cel
