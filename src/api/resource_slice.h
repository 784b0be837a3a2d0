// api/resource_slice.h: ResourceSlice of resource.k8s.io, the part of it that a driver publishes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/quantity.h"
#include "json/value.h"

namespace tessera::api {

// Limits of the API (resource-api, v1 of Kubernetes 1.34 to 1.37).
inline constexpr std::size_t kMaxDevicesPerSlice = 128;
inline constexpr std::size_t kMaxDevicesPerSliceWithTaints = 64;  // Also with counters or list attributes.
inline constexpr std::size_t kMaxAttributesAndCapacities = 32;    // Per device, together.
inline constexpr std::size_t kMaxAttributeValue = 64;             // Bytes of a string or version.
inline constexpr std::size_t kMaxAttributeName = 32;              // Bytes of the part after the domain.

// A version attribute: strict semver 2.0.0.
struct Version {
  std::string text;
  bool operator==(const Version&) const = default;
};
using Attribute = std::variant<std::int64_t, bool, std::string, Version>;

// Keeps new claims away from a device ("NoSchedule"), also evicts pods ("NoExecute"), or only informs ("None").
struct Taint {
  std::string key, value, effect;

  bool operator==(const Taint&) const = default;
};

struct Device {
  std::string name;
  std::map<std::string, Attribute> attributes;
  std::map<std::string, Quantity> capacity;
  std::vector<Taint> taints;
  bool operator==(const Device&) const = default;
};

struct OwnerReference {
  std::string api_version, kind, name, uid;
  bool operator==(const OwnerReference&) const = default;
};

struct ResourceSlice {
  std::string generate_name;
  std::optional<OwnerReference> owner;  // The Node.
  std::string driver;
  std::string node_name;
  std::string pool_name;
  std::int64_t pool_generation = 0;
  std::int64_t pool_slice_count = 0;
  std::vector<Device> devices;
  bool operator==(const ResourceSlice&) const = default;
};

// The object as the API server takes it in "v1", "v1beta2" or "v1beta1".
json::Value ToJson(const ResourceSlice& slice, std::string_view version = "v1");

// Where `stored` differs from what we `wanted`, as paths ("spec.devices[3].taints"); at most `limit`. The order of keys,
// the spelling of quantities, nulls and empty lists do not count, nor does a taint's timeAdded, which the server sets.
// What `stored` has beyond `wanted` counts as well: somebody edited it.
std::vector<std::string> Differences(const json::Value& wanted, const json::Value& stored, std::string_view path,
                                     std::size_t limit = 8);

}  // namespace tessera::api
