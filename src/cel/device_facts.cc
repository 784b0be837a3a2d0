#include "cel/device_facts.h"

#include <utility>

#include "base/text.h"

namespace tessera::cel {

FactName SplitName(std::string_view name, const DeviceFacts& device) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {device.driver, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

void AddCapacity(DeviceFacts& device, std::string_view name, Quantity value) {
  const auto [domain, id] = SplitName(name, device);
  device.capacity.emplace_back(std::string(domain), std::string(id), std::move(value));
}

void AddVersion(DeviceFacts& device, std::string_view name, std::string_view text) {
  auto version = Semver::Parse(text);
  if (version) return AddAttribute(device, name, *std::move(version));
  device.fault = Format("attribute {}: parse semantic version: {}", name, version.error().message());
}

}  // namespace tessera::cel
