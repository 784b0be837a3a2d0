// api/resource_slice.h: ResourceSlice of resource.k8s.io: what a driver publishes, and what allocating needs of others'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/node_selector.h"
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
// Lists are alpha in 1.36 and 1.37.
using Attribute = std::variant<std::int64_t, bool, std::string, Version, std::vector<std::int64_t>, std::vector<bool>,
                               std::vector<std::string>, std::vector<Version>>;

// Keeps new claims away from a device ("NoSchedule"), also evicts pods ("NoExecute"), or only informs ("None").
struct Taint {
  std::string key, value, effect;

  bool operator==(const Taint&) const = default;
};

// "key=value:effect", or "key:effect" without a value, as kubectl prints it.
std::string ToText(const Taint& taint);

// What a request may take of a capacity that several share. Values, or a range, or neither.
struct CapacityPolicy {
  std::optional<Quantity> default_value;
  std::vector<Quantity> valid_values;  // Ascending.
  struct Range {
    std::optional<Quantity> min, max, step;
    bool operator==(const Range&) const = default;
  };
  std::optional<Range> valid_range;
  bool operator==(const CapacityPolicy&) const = default;
};

// Counters by name, of one counter set.
struct Counters {
  std::string set;
  std::map<std::string, Quantity> values;
  bool operator==(const Counters&) const = default;
};

// Which nodes reach a slice, or a device of a slice that leaves it to its devices. One of these, or nothing.
struct Reach {
  std::string node_name;
  bool all_nodes = false;
  std::optional<NodeSelector> node_selector;
  bool operator==(const Reach&) const = default;
};

struct Device {
  std::string name;
  std::map<std::string, Attribute> attributes;
  std::map<std::string, Quantity> capacity;
  std::vector<Taint> taints;
  // What we publish has none of the following; it is decoded from others' slices.
  std::map<std::string, CapacityPolicy> capacity_policies;  // By the capacity's name; most have none.
  std::vector<Counters> consumes_counters;
  Reach reach;
  bool allow_multiple_allocations = false;
  bool binds_to_node = false;
  std::vector<std::string> binding_conditions, binding_failure_conditions;
  bool has_compatibility_groups = false;  // Alpha in 1.37.
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
  // Decoded, not published.
  std::string name;
  bool all_nodes = false;
  std::optional<NodeSelector> node_selector;
  bool per_device_node_selection = false;
  std::vector<Counters> shared_counters;
  bool operator==(const ResourceSlice&) const = default;
};

// The object as the API server takes it in "v1", "v1beta2" or "v1beta1".
json::Value ToJson(const ResourceSlice& slice, std::string_view version = "v1");

// A slice as v1 and v1beta2 have it. Unknown fields are ignored, because a newer server may send them. An error names the
// field.
Result<ResourceSlice> DecodeSlice(const json::Value& value);

// Where `stored` differs from what we `wanted`, as paths ("spec.devices[3].taints"); at most `limit`. The order of keys,
// the spelling of quantities, nulls and empty lists do not count, nor does a taint's timeAdded, which the server sets.
// What `stored` has beyond `wanted` counts as well: somebody edited it.
std::vector<std::string> Differences(const json::Value& wanted, const json::Value& stored, std::string_view path,
                                     std::size_t limit = 8);

}  // namespace tessera::api
