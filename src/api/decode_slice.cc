// What a ResourceSlice of any driver says, from JSON.
#include <utility>

#include "api/resource_slice.h"
#include "json/decode.h"

namespace tessera::api {

// ADL finds these through the arguments, so they stand outside the unnamed namespace.
template <class F>
void Describe(F& f, Taint& t) {
  f.Required("key", t.key);
  f.Optional("value", t.value);
  f.Required("effect", t.effect);
}
template <class F>
void Describe(F& f, CapacityPolicy::Range& r) {
  f.Optional("min", r.min);
  f.Optional("max", r.max);
  f.Optional("step", r.step);
}
template <class F>
void Describe(F& f, CapacityPolicy& p) {
  f.Optional("default", p.default_value);
  f.Optional("validValues", p.valid_values);
  f.Optional("validRange", p.valid_range);
}

namespace {

struct AttributeObject {
  std::optional<std::int64_t> int_value;
  std::optional<bool> bool_value;
  std::optional<std::string> string_value, version_value;
  std::optional<std::vector<std::int64_t>> ints;
  std::optional<std::vector<json::Value>> bools;  // std::vector<bool> has no elements to read into.
  std::optional<std::vector<std::string>> strings, versions;
};
template <class F>
void Describe(F& f, AttributeObject& a) {
  f.Optional("int", a.int_value);
  f.Optional("bool", a.bool_value);
  f.Optional("string", a.string_value);
  f.Optional("version", a.version_value);
  f.Optional("ints", a.ints);
  f.Optional("bools", a.bools);
  f.Optional("strings", a.strings);
  f.Optional("versions", a.versions);
}

struct CapacityObject {
  Quantity value;
  std::optional<CapacityPolicy> policy;
};
template <class F>
void Describe(F& f, CapacityObject& c) {
  f.Required("value", c.value);
  f.Optional("requestPolicy", c.policy);
}

struct CounterObject {
  Quantity value;
};
template <class F>
void Describe(F& f, CounterObject& c) {
  f.Required("value", c.value);
}

struct CounterSetObject {
  std::string name;
  std::map<std::string, CounterObject> counters;
};
template <class F>
void Describe(F& f, CounterSetObject& s) {
  f.Required("name", s.name);
  f.Optional("counters", s.counters);
}

struct ConsumptionObject {
  std::string set;
  std::map<std::string, CounterObject> counters;
  std::vector<std::string> compatibility_groups;
};
template <class F>
void Describe(F& f, ConsumptionObject& c) {
  f.Required("counterSet", c.set);
  f.Optional("counters", c.counters);
  f.Optional("compatibilityGroups", c.compatibility_groups);
}

struct DeviceObject {
  Device device;
  std::map<std::string, AttributeObject> attributes;
  std::map<std::string, CapacityObject> capacity;
  std::vector<ConsumptionObject> consumes;
};
template <class F>
void Describe(F& f, DeviceObject& d) {
  f.Required("name", d.device.name);
  f.Optional("attributes", d.attributes);
  f.Optional("capacity", d.capacity);
  f.Optional("consumesCounters", d.consumes);
  f.Optional("taints", d.device.taints);
  f.Optional("nodeName", d.device.reach.node_name);
  f.Optional("allNodes", d.device.reach.all_nodes);
  f.Optional("nodeSelector", d.device.reach.node_selector);
  f.Optional("allowMultipleAllocations", d.device.allow_multiple_allocations);
  f.Optional("bindsToNode", d.device.binds_to_node);
  f.Optional("bindingConditions", d.device.binding_conditions);
  f.Optional("bindingFailureConditions", d.device.binding_failure_conditions);
}

struct PoolObject {
  std::string name;
  std::int64_t generation = 0, slice_count = 0;
};
template <class F>
void Describe(F& f, PoolObject& p) {
  f.Required("name", p.name);
  f.Optional("generation", p.generation);
  f.Required("resourceSliceCount", p.slice_count);
}

struct SpecObject {
  std::string driver;
  PoolObject pool;
  Reach reach;
  bool per_device_node_selection = false;
  std::vector<DeviceObject> devices;
  std::vector<CounterSetObject> shared_counters;
};
template <class F>
void Describe(F& f, SpecObject& s) {
  f.Required("driver", s.driver);
  f.Required("pool", s.pool);
  f.Optional("nodeName", s.reach.node_name);
  f.Optional("allNodes", s.reach.all_nodes);
  f.Optional("nodeSelector", s.reach.node_selector);
  f.Optional("perDeviceNodeSelection", s.per_device_node_selection);
  f.Optional("devices", s.devices);
  f.Optional("sharedCounters", s.shared_counters);
}

struct Metadata {
  std::string name;
};
template <class F>
void Describe(F& f, Metadata& m) {
  f.Optional("name", m.name);  // One that is not created yet has a generateName.
}

struct SliceObject {
  Metadata metadata;
  SpecObject spec;
};
template <class F>
void Describe(F& f, SliceObject& s) {
  f.Required("metadata", s.metadata);
  f.Required("spec", s.spec);
}

std::vector<Version> Versions(std::vector<std::string> texts) {
  std::vector<Version> versions;
  for (std::string& text : texts) versions.push_back({std::move(text)});
  return versions;
}

std::vector<bool> Bools(const std::vector<json::Value>& values) {
  std::vector<bool> bools;
  for (const json::Value& value : values) bools.push_back(value.is_bool() && value.get_bool());
  return bools;
}

// Nothing when it holds no value of a kind that we know.
std::optional<Attribute> ToAttribute(AttributeObject object) {
  if (object.int_value) return *object.int_value;
  if (object.bool_value) return *object.bool_value;
  if (object.string_value) return *std::move(object.string_value);
  if (object.version_value) return Version{*std::move(object.version_value)};
  if (object.ints) return *std::move(object.ints);
  if (object.bools) return Bools(*object.bools);
  if (object.strings) return *std::move(object.strings);
  if (object.versions) return Versions(*std::move(object.versions));
  return std::nullopt;
}

Counters ToCounters(std::string set, const std::map<std::string, CounterObject>& counters) {
  Counters out{.set = std::move(set)};
  for (const auto& [name, counter] : counters) out.values.emplace(name, counter.value);
  return out;
}

Device ToDevice(DeviceObject object) {
  Device device = std::move(object.device);
  for (auto& [name, attribute] : object.attributes) {
    if (auto value = ToAttribute(std::move(attribute))) device.attributes.emplace(name, *std::move(value));
  }
  for (auto& [name, capacity] : object.capacity) {
    device.capacity.emplace(name, capacity.value);
    if (capacity.policy) device.capacity_policies.emplace(name, *std::move(capacity.policy));
  }
  for (ConsumptionObject& consumption : object.consumes) {
    device.has_compatibility_groups = device.has_compatibility_groups || !consumption.compatibility_groups.empty();
    device.consumes_counters.push_back(ToCounters(std::move(consumption.set), consumption.counters));
  }
  return device;
}

}  // namespace

Result<ResourceSlice> DecodeSlice(const json::Value& value) {
  TESSERA_ASSIGN(SliceObject object, json::Decode<SliceObject>(value, json::Unknown::kIgnore));
  SpecObject& spec = object.spec;
  ResourceSlice slice{.driver = std::move(spec.driver),
                      .node_name = std::move(spec.reach.node_name),
                      .pool_name = std::move(spec.pool.name),
                      .pool_generation = spec.pool.generation,
                      .pool_slice_count = spec.pool.slice_count,
                      .name = std::move(object.metadata.name),
                      .all_nodes = spec.reach.all_nodes,
                      .node_selector = std::move(spec.reach.node_selector),
                      .per_device_node_selection = spec.per_device_node_selection};
  for (DeviceObject& device : spec.devices) slice.devices.push_back(ToDevice(std::move(device)));
  for (CounterSetObject& set : spec.shared_counters) {
    slice.shared_counters.push_back(ToCounters(std::move(set.name), set.counters));
  }
  return slice;
}

}  // namespace tessera::api
