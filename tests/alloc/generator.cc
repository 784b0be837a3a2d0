#include "tests/alloc/generator.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tessera::tests {
namespace {

// SplitMix64: the standard library's distributions differ between implementations.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}

  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::size_t Below(std::size_t bound) { return Next() % bound; }
  std::size_t From(std::size_t low, std::size_t high) { return low + Below(high - low + 1); }
  bool Chance(std::size_t percent) { return Below(100) < percent; }
  template <class List>
  const auto& Pick(const List& list) {
    return list[Below(list.size())];
  }

 private:
  std::uint64_t state_;
};

// The models of sim/profiles, with what a selector or constraint may look at.
struct Model {
  std::string_view product, architecture, memory, version;
};
constexpr std::array kModels{
    Model{"NVIDIA H200", "Hopper", "141Gi", "570.158.1"},
    Model{"NVIDIA A100-SXM4-80GB", "Ampere", "80Gi", "535.9.0"},
    Model{"NVIDIA L4", "Ada Lovelace", "24Gi", "570.158.1"},
    Model{"NVIDIA B200", "Blackwell", "180Gi", "580.65.6"},
    Model{"NVIDIA GeForce RTX 4090", "Ada Lovelace", "24Gi", "580.65.6"},
};

constexpr std::array<std::string_view, 10> kSelectors{
    "true",
    "device.driver == 'a.x'",
    "device.attributes['a.x'].?architecture.orValue('') != 'Hopper'",
    "device.attributes['a.x'].?index.orValue(0) < 3",
    "device.attributes['a.x'].?index.orValue(0) % 2 == 0",
    "!('memory' in device.capacity['a.x']) || device.capacity['a.x'].memory.isGreaterThan(quantity('30Gi'))",
    "has(device.attributes['a.x'].numa) && device.attributes['a.x'].numa == 1",
    "device.attributes['a.x'].?type.orValue('gpu') == 'gpu'",
    "device.allowMultipleAllocations || device.attributes['a.x'].?index.orValue(0) > 0",
    "device.attributes['resource.kubernetes.io'].?pcieRoot.orValue('pci').startsWith('pci')",
};
// These stop the scheduler at a device that does not have what they name.
constexpr std::array<std::string_view, 4> kCarelessSelectors{
    "device.attributes['a.x'].architecture == 'Hopper'",
    "device.capacity['a.x'].memory.compareTo(quantity('80Gi')) >= 0",
    "device.attributes['a.x'].driverVersion.isGreaterThan(semver('560.0.0'))",
    "device.attributes['a.x'].type == 'mig'",
};

constexpr std::array<std::string_view, 6> kConstraintAttributes{
    "a.x/numa", "a.x/index", "resource.kubernetes.io/pcieRoot", "a.x/architecture", "a.x/driverVersion", "a.x/parent"};

constexpr std::array<std::string_view, 3> kTaintEffects{"NoSchedule", "NoExecute", "None"};
constexpr std::array<std::string_view, 3> kClasses{"any", "gpu", "own"};

json::Object One(std::string_view key, json::Value value) { return {{key, std::move(value)}}; }
json::Object One(std::string_view key, std::string_view text) { return {{key, text}}; }
json::Object One(std::string_view key, const char* text) { return {{key, text}}; }

// What one problem is about; several may be on.
struct Flavour {
  bool partitions, shares, taints, constraints, alternatives, admin, several_nodes, odd_pools, held;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : dice_(seed) {
    flavour_ = {.partitions = dice_.Chance(30),
                .shares = dice_.Chance(30),
                .taints = dice_.Chance(35),
                .constraints = dice_.Chance(50),
                .alternatives = dice_.Chance(45),
                .admin = dice_.Chance(25),
                .several_nodes = dice_.Chance(30),
                .odd_pools = dice_.Chance(12),
                .held = dice_.Chance(50)};
  }

  json::Value Make() {
    json::Object node{{"metadata", {{"name", "n"}, {"labels", {{"zone", "z1"}, {"rank", "5"}}}}}};
    const std::size_t pools = dice_.From(1, 3);
    for (std::size_t i = 0; i < pools; ++i) AddPool(i);
    if (flavour_.held) HoldSome();
    const std::size_t claims = dice_.Chance(60) ? 1 : dice_.From(2, 3);
    json::Array claim_objects;
    for (std::size_t i = 0; i < claims; ++i) claim_objects.push_back(MakeClaim(i));
    return json::Object{{"node", std::move(node)},
                        {"classes", MakeClasses()},
                        {"slices", std::move(slices_)},
                        {"allocated", std::move(allocated_)},
                        {"claims", std::move(claim_objects)}};
  }

 private:
  // ---- Slices.

  void AddPool(std::size_t number) {
    const std::string driver = number == 0 || dice_.Chance(70) ? "a.x" : "b.x";
    const std::string pool(1, static_cast<char>('p' + number));
    const std::size_t first = slices_.size();
    if (flavour_.partitions && number < 2) {
      AddPartitions(driver, pool);
    } else {
      const std::size_t parts = dice_.From(1, 3);
      std::size_t next = 0;
      for (std::size_t part = 0; part < parts; ++part) AddPlainSlice(driver, pool, part, next);
    }
    const std::int64_t generation = 1;
    const auto count = static_cast<std::int64_t>(slices_.size() - first);
    for (std::size_t i = first; i < slices_.size(); ++i) {
      slices_[i].at("spec").as_object()["pool"] =
          json::Object{{"name", pool}, {"generation", generation}, {"resourceSliceCount", count}};
    }
    if (flavour_.odd_pools) SpoilPool(first);
  }

  // Something that a driver does while it updates its slices, or wrongly.
  void SpoilPool(std::size_t first) {
    json::Object& spec = slices_[first].at("spec").as_object();
    json::Object& pool = spec.at("pool").as_object();
    switch (dice_.Below(5)) {
      case 0:
        pool["resourceSliceCount"] = pool.at("resourceSliceCount").as_int64() + 1;
        break;
      case 1:
        pool["generation"] = 2;
        break;
      case 2:
        pool["generation"] = 0;
        break;
      case 3:
        if (spec.contains("devices") && !spec.at("devices").as_array().empty()) {
          json::Array& devices = spec.at("devices").as_array();
          devices.push_back(devices[0]);
        }
        break;
      default:
        break;
    }
  }

  json::Object& AddSlice(std::string_view driver, std::string_view pool, std::size_t part) {
    // Names in an order that is not that of the list.
    const std::string name = Format("{}{}-{}", dice_.Below(9), pool, part);
    slices_.push_back(json::Object{{"metadata", {{"name", name}}}, {"spec", {{"driver", driver}}}});
    return slices_.back().at("spec").as_object();
  }

  void SetReach(json::Object& object, bool devices_decide = true) {
    if (!flavour_.several_nodes) {
      object["nodeName"] = "n";
      return;
    }
    switch (dice_.Below(devices_decide ? 6 : 5)) {
      case 0:
        object["allNodes"] = true;
        break;
      case 1:
        object["nodeSelector"] = Zone(dice_.Chance(70) ? "z1" : "z2");
        break;
      case 2:
        object["nodeName"] = "m";
        break;
      case 5:
        object["perDeviceNodeSelection"] = true;
        break;
      default:
        object["nodeName"] = "n";
        break;
    }
  }

  json::Value Zone(std::string_view zone) {
    json::Object requirement{{"key", "zone"}, {"operator", dice_.Chance(80) ? "In" : "NotIn"}, {"values", {zone}}};
    return json::Object{
        {"nodeSelectorTerms", {json::Object{{"matchExpressions", json::Array{std::move(requirement)}}}}}};
  }

  void AddPlainSlice(std::string_view driver, std::string_view pool, std::size_t part, std::size_t& next) {
    json::Object& spec = AddSlice(driver, pool, part);
    SetReach(spec);
    const bool by_device = spec.contains("perDeviceNodeSelection");
    json::Array devices;
    const std::size_t count = dice_.From(1, 4);
    for (std::size_t i = 0; i < count; ++i) {
      json::Object device = MakeGpu(next++, flavour_.shares && dice_.Chance(50));
      if (by_device) SetReach(device, false);
      devices.push_back(std::move(device));
    }
    spec["devices"] = std::move(devices);
  }

  json::Object MakeGpu(std::size_t index, bool shareable) {
    const Model& model = dice_.Pick(kModels);
    json::Object attributes{{"architecture", One("string", model.architecture)},
                            {"index", One("int", static_cast<std::int64_t>(index))}};
    if (dice_.Chance(90)) attributes["type"] = One("string", "gpu");
    if (dice_.Chance(80)) attributes["numa"] = One("int", static_cast<std::int64_t>(dice_.Below(2)));
    if (dice_.Chance(70)) attributes["driverVersion"] = One("version", model.version);
    if (dice_.Chance(70)) {
      attributes["resource.kubernetes.io/pcieRoot"] = One("string", Format("pci0000:{}0", dice_.Below(3)));
    }
    json::Object device{{"name", std::to_string(index)}, {"attributes", std::move(attributes)}};
    if (dice_.Chance(85)) device["capacity"] = One("memory", MakeCapacity(model.memory, shareable));
    if (shareable) device["allowMultipleAllocations"] = true;
    AddTaints(device);
    if (dice_.Chance(2)) {
      device["bindingConditions"] = json::Array{"x.io/ready"};
      device["bindingFailureConditions"] = json::Array{"x.io/failed"};
      if (dice_.Chance(50)) device["bindsToNode"] = true;
    }
    return device;
  }

  json::Object MakeCapacity(std::string_view memory, bool shareable) {
    json::Object capacity{{"value", memory}};
    if (!shareable || dice_.Chance(30)) return capacity;
    json::Object policy{{"default", "8Gi"}};
    if (dice_.Chance(50)) {
      policy["validValues"] = json::Array{"4Gi", "8Gi", "16Gi"};
    } else {
      json::Object range{{"min", "4Gi"}};
      if (dice_.Chance(60)) range["step"] = "4Gi";
      if (dice_.Chance(50)) range["max"] = "20Gi";
      policy["validRange"] = std::move(range);
    }
    capacity["requestPolicy"] = std::move(policy);
    return capacity;
  }

  void AddTaints(json::Object& device) {
    if (!flavour_.taints || !dice_.Chance(35)) return;
    device["taints"] = json::Array{
        json::Object{{"key", dice_.Chance(50) ? "unhealthy" : "x.io/busy"}, {"effect", dice_.Pick(kTaintEffects)}}};
  }

  // A GPU as counters, and partitions that take of them: whole, half, single slices.
  void AddPartitions(std::string_view driver, std::string_view pool) {
    const std::size_t gpus = dice_.From(1, 2);
    json::Array sets;
    json::Array devices;
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      json::Object counters{{"compute", One("value", "7")}};
      for (std::size_t slice = 0; slice < 4; ++slice) counters[Format("memory-{}", slice)] = One("value", "1");
      sets.push_back(json::Object{{"name", Format("gpu-{}", gpu)}, {"counters", std::move(counters)}});
      if (dice_.Chance(60)) devices.push_back(Partition(gpu, "whole", 0, 4, 7));
      if (dice_.Chance(60)) devices.push_back(Partition(gpu, "half", dice_.Chance(50) ? 0 : 2, 2, 3));
      const std::size_t singles = dice_.From(1, 3);
      for (std::size_t i = 0; i < singles; ++i)
        devices.push_back(Partition(gpu, Format("s{}", i), i, 1, dice_.From(1, 2)));
    }
    json::Object& counters = AddSlice(driver, pool, 0);
    SetReach(counters, false);
    counters["sharedCounters"] = std::move(sets);
    if (dice_.Chance(3)) devices[0].as_object()["consumesCounters"].as_array()[0].as_object()["counterSet"] = "none";
    json::Object& slice = AddSlice(driver, pool, 1);
    SetReach(slice, false);
    slice["devices"] = std::move(devices);
  }

  json::Object Partition(std::size_t gpu, std::string_view name, std::size_t start, std::size_t size,
                         std::size_t compute) {
    json::Object taken{{"compute", One("value", std::to_string(compute))}};
    for (std::size_t i = start; i < start + size; ++i) taken[Format("memory-{}", i)] = One("value", "1");
    json::Object device{
        {"name", Format("{}-{}", gpu, name)},
        {"attributes",
         {{"type", One("string", name == "whole" ? "gpu" : "mig")},
          {"parent", One("string", Format("gpu-{}", gpu))},
          {"index", One("int", static_cast<std::int64_t>(start))}}},
        {"consumesCounters", {json::Object{{"counterSet", Format("gpu-{}", gpu)}, {"counters", std::move(taken)}}}}};
    AddTaints(device);
    return device;
  }

  // ---- What other claims hold.

  void HoldSome() {
    for (const json::Value& slice : slices_) {
      const json::Object& spec = slice.at("spec").as_object();
      if (!spec.contains("devices")) continue;
      for (const json::Value& device : spec.at("devices").as_array()) {
        if (dice_.Chance(15)) Hold(spec, device.as_object());
      }
    }
  }

  void Hold(const json::Object& spec, const json::Object& device) {
    json::Object result{{"request", "r"},
                        {"driver", spec.at("driver")},
                        {"pool", spec.at("pool").at("name")},
                        {"device", device.at("name")}};
    if (device.contains("allowMultipleAllocations") && dice_.Chance(80)) {
      result["shareID"] = Format("00000000-0000-4000-8000-{:012}", allocated_.size());
      if (device.contains("capacity")) result["consumedCapacity"] = One("memory", dice_.Chance(50) ? "8Gi" : "16Gi");
    } else if (dice_.Chance(10)) {
      result["adminAccess"] = true;
    }
    allocated_.push_back(std::move(result));
  }

  // ---- Claims.

  json::Array MakeClasses() {
    json::Array classes;
    const auto add = [&](std::string_view name, json::Array selectors, json::Array config) {
      classes.push_back(json::Object{{"metadata", {{"name", name}}},
                                     {"spec", {{"selectors", std::move(selectors)}, {"config", std::move(config)}}}});
    };
    add("any", {}, {});
    add("gpu", {Cel("device.attributes['a.x'].?type.orValue('gpu') == 'gpu'")}, {Opaque("a.x", 1), Opaque("b.x", 2)});
    add("mig", {Cel("device.attributes['a.x'].?type.orValue('') == 'mig'")}, {});
    add("own", {Cel("device.driver == 'a.x'"), Cel(PickSelector())}, {Opaque("a.x", 3)});
    return classes;
  }

  static json::Object Cel(std::string_view expression) { return One("cel", One("expression", expression)); }
  static json::Object Opaque(std::string_view driver, std::int64_t number) {
    return One("opaque", json::Object{{"driver", driver}, {"parameters", One("n", number)}});
  }

  json::Object MakeClaim(std::size_t number) {
    json::Array requests;
    std::vector<std::string> names;
    const std::size_t count = dice_.Chance(55) ? 1 : dice_.From(2, 3);
    for (std::size_t i = 0; i < count; ++i) requests.push_back(MakeRequest(i, names));
    json::Object devices{{"requests", std::move(requests)}};
    if (flavour_.constraints) devices["constraints"] = MakeConstraints(names);
    if (dice_.Chance(25)) devices["config"] = MakeConfig(names);
    return {{"metadata", {{"name", Format("c{}", number)}, {"namespace", "default"}, {"uid", Format("u{}", number)}}},
            {"spec", One("devices", std::move(devices))}};
  }

  json::Object MakeRequest(std::size_t number, std::vector<std::string>& names) {
    const std::string name = Format("r{}", number);
    names.push_back(name);
    json::Object request{{"name", name}};
    if (!flavour_.alternatives || !dice_.Chance(45)) {
      request["exactly"] = MakeDeviceRequest(true);
      return request;
    }
    json::Array alternatives;
    const std::size_t count = dice_.From(1, 3);
    for (std::size_t i = 0; i < count; ++i) {
      json::Object alternative = MakeDeviceRequest(false);
      const std::string sub = Format("s{}", i);
      alternative["name"] = sub;
      names.push_back(Format("{}/{}", name, sub));
      alternatives.push_back(std::move(alternative));
    }
    request["firstAvailable"] = std::move(alternatives);
    return request;
  }

  std::string_view PickSelector() { return dice_.Chance(10) ? dice_.Pick(kCarelessSelectors) : dice_.Pick(kSelectors); }

  std::string_view PickClass() {
    if (dice_.Below(300) == 0) return "missing";
    return dice_.Chance(flavour_.partitions ? 40 : 2) ? "mig" : dice_.Pick(kClasses);
  }

  json::Object MakeDeviceRequest(bool exactly) {
    json::Object request{{"deviceClassName", PickClass()}};
    if (dice_.Chance(40)) {
      json::Array selectors;
      const std::size_t count = dice_.From(1, 2);
      for (std::size_t i = 0; i < count; ++i) selectors.push_back(Cel(PickSelector()));
      request["selectors"] = std::move(selectors);
    }
    // The API server's defaults: the oracle has no API server.
    if (dice_.Chance(8)) {
      request["allocationMode"] = "All";
    } else {
      request["allocationMode"] = "ExactCount";
      request["count"] = static_cast<std::int64_t>(dice_.Below(300) == 0 ? 33
                                                   : dice_.Chance(60)    ? 1
                                                                         : dice_.From(2, 3));
    }
    if (exactly && flavour_.admin && dice_.Chance(40)) request["adminAccess"] = dice_.Chance(90);
    if (flavour_.taints && dice_.Chance(40)) request["tolerations"] = json::Array{MakeToleration()};
    if (flavour_.shares && dice_.Chance(50)) request["capacity"] = One("requests", MakeAmounts());
    return request;
  }

  json::Object MakeToleration() {
    json::Object toleration{{"operator", dice_.Chance(70) ? "Exists" : "Equal"}};
    if (dice_.Chance(60)) toleration["key"] = dice_.Chance(50) ? "unhealthy" : "x.io/busy";
    if (dice_.Chance(30)) toleration["effect"] = dice_.Pick(kTaintEffects);
    return toleration;
  }

  json::Object MakeAmounts() {
    constexpr std::array<std::string_view, 6> kAmounts{"1Gi", "4Gi", "6Gi", "16Gi", "20Gi", "100Gi"};
    return One(dice_.Chance(96) ? "memory" : "bandwidth", dice_.Pick(kAmounts));
  }

  json::Array Subset(const std::vector<std::string>& names) {
    json::Array subset;
    if (dice_.Chance(50)) return subset;
    for (const std::string& name : names) {
      if (dice_.Chance(50)) subset.push_back(json::Value(name));
    }
    return subset;
  }

  json::Array MakeConstraints(const std::vector<std::string>& names) {
    json::Array constraints;
    const std::size_t count = dice_.Chance(75) ? 1 : 2;
    for (std::size_t i = 0; i < count; ++i) {
      json::Object constraint{
          {dice_.Chance(65) ? "matchAttribute" : "distinctAttribute", dice_.Pick(kConstraintAttributes)}};
      if (json::Array subset = Subset(names); !subset.empty()) constraint["requests"] = std::move(subset);
      constraints.push_back(std::move(constraint));
    }
    return constraints;
  }

  json::Array MakeConfig(const std::vector<std::string>& names) {
    json::Array configs;
    const std::size_t count = dice_.From(1, 2);
    for (std::size_t i = 0; i < count; ++i) {
      json::Object config = Opaque("a.x", static_cast<std::int64_t>(10 + i));
      if (json::Array subset = Subset(names); !subset.empty()) config["requests"] = std::move(subset);
      configs.push_back(std::move(config));
    }
    return configs;
  }

  Dice dice_;
  Flavour flavour_{};
  json::Array slices_, allocated_;
};

}  // namespace

json::Value GenerateProblem(std::uint64_t seed) { return Generator(seed).Make(); }

}  // namespace tessera::tests
