// Problems on the machines of sim/profiles.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/text.h"
#include "tests/alloc/generator.h"
#include "tests/alloc/machines.h"
#include "tests/alloc/problem_parts.h"

namespace tessera::tests {
namespace {

constexpr std::string_view kNode = "node-a";  // Whose machine tests/testdata/slices has.

constexpr std::array<std::string_view, 12> kSelectors{
    "true",
    "device.driver == 'gpu.nvidia.com'",
    "device.attributes['gpu.nvidia.com'].productName.lowerAscii().matches('a100|h[12]00|b200|l40s')",
    "device.attributes['gpu.nvidia.com'].architecture in ['Ampere', 'Hopper', 'Blackwell']",
    "device.attributes['gpu.nvidia.com'].cudaComputeCapability.compareTo(semver('8.0.0')) >= 0",
    "device.attributes['gpu.nvidia.com'].?nvlinkCount.orValue(4) >= 4",
    "device.attributes['gpu.nvidia.com'].?profile.orValue('1g.').startsWith('1g.')",
    "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('10Gi'))",
    "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('81559Mi')) <= 0",
    "device.attributes['resource.kubernetes.io'].?numaNode.orValue(0) < 2",
    "device.attributes['gpu.nvidia.com'].?eccEnabled.orValue(false) || device.allowMultipleAllocations",
    "device.attributes['resource.kubernetes.io'].?pcieRoot.orValue('').startsWith('pci0000:')",
};
constexpr std::array<std::string_view, 3> kCarelessSelectors{
    "device.attributes['gpu.nvidia.com'].profile == '3g.20gb'",
    "device.attributes['gpu.nvidia.com'].nvlinkVersion.isGreaterThan(semver('3.5.0'))",
    "device.capacity['gpu.nvidia.com'].memorySlice0.compareTo(quantity('1')) == 0",
};
constexpr std::array<std::string_view, 7> kConstraintAttributes{
    "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode", "gpu.nvidia.com/parentUUID",
    "gpu.nvidia.com/productName",      "gpu.nvidia.com/profile",          "gpu.nvidia.com/nvlinkIsland",
    "gpu.nvidia.com/driverVersion"};
constexpr std::array<std::int64_t, 4> kCounts{2, 2, 3, 4};

constexpr Vocabulary kWords{.driver = "gpu.nvidia.com",
                            .selectors = kSelectors,
                            .careless = kCarelessSelectors,
                            .attributes = kConstraintAttributes,
                            .counts = kCounts};

class MachineGenerator {
 public:
  explicit MachineGenerator(std::uint64_t seed) : dice_(seed), flavour_(RollFlavour(dice_)) {}

  json::Value Make() {
    AddMachine(kNode, json::Object{{"nodeName", kNode}});
    if (flavour_.several_nodes) AddMachine("node-b", OtherReach());
    json::Array allocated = flavour_.held ? HoldSome(dice_, slices_) : json::Array();
    ClaimGenerator claims(dice_, flavour_, kWords);
    json::Array claim_objects = claims.MakeClaims();
    return json::Object{{"node", {{"metadata", {{"name", kNode}, {"labels", {{"zone", "z1"}}}}}}},
                        {"classes", claims.MakeClasses()},
                        {"slices", std::move(slices_)},
                        {"allocated", std::move(allocated)},
                        {"claims", std::move(claim_objects)}};
  }

 private:
  // Of a second machine: another node's own, or one that a fabric brings to all nodes.
  json::Object OtherReach() {
    if (dice_.Chance(50)) return {{"nodeName", "node-b"}};
    return {{"allNodes", true}};
  }

  // One that can be cut, when partitions are wanted.
  const PublishedMachine& PickMachine() {
    while (true) {
      const PublishedMachine& machine = dice_.Pick(PublishedMachines());
      const json::Array& devices = machine.spec.at("devices").as_array();
      const auto can_be_cut = [](const json::Value& device) { return MigModelOf(device.as_object()) != nullptr; };
      if (!flavour_.partitions || std::ranges::any_of(devices, can_be_cut)) return machine;
    }
  }

  void AddMachine(std::string_view pool, const json::Object& reach) {
    json::Array devices = PickMachine().spec.at("devices").as_array();
    json::Array sets;
    if (flavour_.partitions) Cut(devices, sets);
    for (json::Value& device : devices) Vary(device.as_object());
    const std::size_t first = slices_.size();
    if (!sets.empty()) AddSlice(pool, reach)["sharedCounters"] = std::move(sets);
    AddDevices(pool, reach, devices);
    const auto count = static_cast<std::int64_t>(slices_.size() - first);
    for (std::size_t i = first; i < slices_.size(); ++i) {
      json::Object& spec = slices_[i].at("spec").as_object();
      spec["pool"] = json::Object{{"name", pool}, {"generation", 7}, {"resourceSliceCount", count}};
    }
    // While the driver still writes.
    if (flavour_.odd_pools) slices_[first].at("spec").at("pool").as_object()["generation"] = dice_.Chance(50) ? 6 : 8;
  }

  // In one slice, or two as many devices need.
  void AddDevices(std::string_view pool, const json::Object& reach, const json::Array& devices) {
    const std::size_t cut = dice_.Chance(30) ? dice_.Below(devices.size()) : 0;
    if (cut != 0) AddSlice(pool, reach)["devices"] = json::Array(devices.begin(), devices.begin() + cut);
    AddSlice(pool, reach)["devices"] = json::Array(devices.begin() + cut, devices.end());
  }

  json::Object& AddSlice(std::string_view pool, const json::Object& reach) {
    const std::string name = Format("{:05}-gpu.nvidia.com-{}", slices_.size(), pool);
    json::Object spec{{"driver", kWords.driver}};
    for (const auto& [key, value] : reach) spec[key] = value;
    slices_.push_back(json::Object{{"metadata", {{"name", name}}}, {"spec", std::move(spec)}});
    return slices_.back().at("spec").as_object();
  }

  // The first boards as counters, whole GPUs, and some of the placements that MIG has on such a board; the other boards
  // stay as they are. All placements would be more than Kubernetes' allocator gets through.
  void Cut(json::Array& devices, json::Array& sets) {
    const std::size_t boards = dice_.From(1, 2);
    json::Array cut;
    for (const json::Value& device : devices) {
      const json::Object& gpu = device.as_object();
      const sim::Model* model = MigModelOf(gpu);
      if (sets.size() == boards || model == nullptr) {
        cut.push_back(device);
        continue;
      }
      const std::string set = Format("{}-counters", std::string_view(gpu.at("name").as_string()));
      sets.push_back(CounterSet(*model, set));
      if (dice_.Chance(70)) cut.push_back(WholeGpu(*model, gpu, set));
      for (const sim::MigProfile& profile : model->mig) AddPlacements(*model, profile, gpu, set, cut);
    }
    devices = std::move(cut);
  }

  // Null for boards without MIG, and for MIG devices: they are cut already.
  static const sim::Model* MigModelOf(const json::Object& device) {
    const json::Object& attributes = device.at("attributes").as_object();
    if (attributes.at("type").at("string") != "gpu") return nullptr;
    const sim::Model* model = FindModel(std::string_view(attributes.at("productName").at("string").as_string()));
    return model == nullptr || model->mig.empty() ? nullptr : model;
  }

  void AddPlacements(const sim::Model& model, const sim::MigProfile& profile, const json::Object& gpu,
                     std::string_view set, json::Array& devices) {
    for (const unsigned start : profile.starts) {
      if (dice_.Chance(25)) devices.push_back(MigPlacement(model, profile, start, gpu, set));
    }
  }

  void Vary(json::Object& device) {
    if (flavour_.taints) MaybeTaint(dice_, device);
    if (!flavour_.shares || !dice_.Chance(50)) return;
    device["allowMultipleAllocations"] = true;
    if (dice_.Chance(70)) device.at("capacity").at("memory").as_object()["requestPolicy"] = RollPolicy(dice_);
  }

  Dice dice_;
  Flavour flavour_;
  json::Array slices_;
};

}  // namespace

json::Value GenerateMachineProblem(std::uint64_t seed) { return MachineGenerator(seed).Make(); }

}  // namespace tessera::tests
