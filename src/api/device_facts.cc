#include "api/device_facts.h"

namespace tessera::api {
namespace {

// As cel::AddVersion(), for a list.
void AddVersions(cel::DeviceFacts& facts, std::string_view name, const std::vector<Version>& versions) {
  std::vector<Semver> parsed;
  for (const Version& version : versions) {
    auto semver = Semver::Parse(version.text);
    if (!semver) return cel::AddVersion(facts, name, version.text);  // Notes the fault.
    parsed.push_back(*std::move(semver));
  }
  cel::AddAttribute(facts, name, std::move(parsed));
}

}  // namespace

cel::DeviceFacts FactsOf(const Device& device, std::string_view driver) {
  cel::DeviceFacts facts;
  facts.driver = driver;
  facts.allow_multiple_allocations = device.allow_multiple_allocations;
  facts.attributes.reserve(device.attributes.size());
  facts.capacity.reserve(device.capacity.size());
  for (const auto& attribute : device.attributes) {
    std::visit(
        [&](const auto& value) {
          using Type = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Type, Version>) {
            cel::AddVersion(facts, attribute.first, value.text);
          } else if constexpr (std::is_same_v<Type, std::vector<Version>>) {
            AddVersions(facts, attribute.first, value);
          } else {
            cel::AddAttribute(facts, attribute.first, value);
          }
        },
        attribute.second);
  }
  for (const auto& [name, quantity] : device.capacity) cel::AddCapacity(facts, name, quantity);
  return facts;
}

}  // namespace tessera::api
