// cel/device_facts.h: a device as a selector sees it. Plain data, without the API's types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/quantity.h"
#include "base/semver.h"

namespace tessera::cel {

using AttributeValue = std::variant<std::int64_t, bool, std::string, Semver, std::vector<std::int64_t>,
                                    std::vector<bool>, std::vector<std::string>, std::vector<Semver>>;

// device.attributes[domain][id], device.capacity[domain][id].
struct AttributeFact {
  std::string domain;
  std::string id;
  AttributeValue value;
};
struct CapacityFact {
  std::string domain;
  std::string id;
  Quantity value;
};

struct DeviceFacts {
  std::string driver;
  bool allow_multiple_allocations = false;
  std::vector<AttributeFact> attributes;
  std::vector<CapacityFact> capacity;
  // Why Kubernetes cannot look at this device at all ("attribute x: parse semantic version: …"); then every selector
  // fails with it. Usually empty.
  std::string fault;
};

// What stands before the first slash, or the driver's name, which must be set; and the rest. Views of both arguments.
struct FactName {
  std::string_view domain;
  std::string_view id;
};
FactName SplitName(std::string_view name, const DeviceFacts& device);

// Files it under its domain. The value, of one of AttributeValue's types, is built in place: this is done for every
// device of a cluster.
template <class Value>
void AddAttribute(DeviceFacts& device, std::string_view name, Value&& value) {
  const auto [domain, id] = SplitName(name, device);
  device.attributes.emplace_back(std::string(domain), std::string(id), std::forward<Value>(value));
}
void AddCapacity(DeviceFacts& device, std::string_view name, Quantity value);
// A `version` attribute as the API has it. Text that is no version becomes the device's fault.
void AddVersion(DeviceFacts& device, std::string_view name, std::string_view text);

}  // namespace tessera::cel
