#include "tests/alloc/generator.h"

#include <array>
#include <string>
#include <string_view>

#include "base/text.h"
#include "tests/alloc/problem_parts.h"

namespace tessera::tests {
namespace {

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

constexpr std::array<std::int64_t, 2> kCounts{2, 3};

constexpr Vocabulary kWords{.driver = "a.x",
                            .selectors = kSelectors,
                            .careless = kCarelessSelectors,
                            .attributes = kConstraintAttributes,
                            .counts = kCounts};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : dice_(seed), flavour_(RollFlavour(dice_)) {}

  json::Value Make() {
    json::Object node{{"metadata", {{"name", "n"}, {"labels", {{"zone", "z1"}, {"rank", "5"}}}}}};
    const std::size_t pools = dice_.From(1, 3);
    for (std::size_t i = 0; i < pools; ++i) AddPool(i);
    json::Array allocated = flavour_.held ? HoldSome(dice_, slices_) : json::Array();
    ClaimGenerator claims(dice_, flavour_, kWords);
    json::Array claim_objects = claims.MakeClaims();
    return json::Object{{"node", std::move(node)},
                        {"classes", claims.MakeClasses()},
                        {"slices", std::move(slices_)},
                        {"allocated", std::move(allocated)},
                        {"claims", std::move(claim_objects)}};
  }

 private:
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
    if (flavour_.taints) MaybeTaint(dice_, device);
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
    capacity["requestPolicy"] = RollPolicy(dice_);
    return capacity;
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
    if (flavour_.taints) MaybeTaint(dice_, device);
    return device;
  }

  Dice dice_;
  Flavour flavour_;
  json::Array slices_;
};

}  // namespace

json::Value GenerateProblem(std::uint64_t seed) { return Generator(seed).Make(); }

}  // namespace tessera::tests
