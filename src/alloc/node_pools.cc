#include "alloc/node_pools.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace tessera::alloc {
namespace {

// Whether the release, with its gates, looks at such a slice at all.
bool Understood(const InventorySlice& slice, const Rules& rules) {
  if (!rules.gates.partitionable_devices &&
      (slice.object.per_device_node_selection || !slice.object.shared_counters.empty())) {
    return false;
  }
  return rules.release < cel::Release::k1_37 || !slice.has_compatibility_groups;
}

// Whether every node gets the slice for its counters, whatever else it says.
bool PulledIn(const api::ResourceSlice& slice, const Rules& rules) {
  return rules.pulls_in_counter_slices && !slice.shared_counters.empty();
}

Result<bool> Relevant(const api::ResourceSlice& slice, const Node& node, const Rules& rules) {
  if (PulledIn(slice, rules)) return true;
  if (!slice.per_device_node_selection || !slice.node_name.empty() || slice.all_nodes || slice.node_selector) {
    if (!slice.node_name.empty()) return slice.node_name == node.name;
    if (slice.all_nodes) return true;
    return slice.node_selector ? Matches(*slice.node_selector, node) : false;
  }
  for (const api::Device& device : slice.devices) {
    TESSERA_ASSIGN(const bool reached, Reaches(device.reach, node));
    if (reached) return true;
  }
  return false;
}

bool AllOnNode(const Slices& slices, std::string_view node, const Rules& rules) {
  return !node.empty() && std::ranges::all_of(slices, [&](const InventorySlice* slice) {
    return slice->object.node_name == node && !PulledIn(slice->object, rules);
  });
}

bool AllEverywhere(const Slices& slices) {
  return std::ranges::all_of(
      slices, [](const InventorySlice* slice) { return slice->object.node_name.empty() && slice->object.all_nodes; });
}

// A newer generation replaces what was there, an older one is ignored.
void AddSlice(Slices& group, const InventorySlice& slice) {
  if (!group.empty() && slice.object.pool_generation < group.front()->object.pool_generation) return;
  if (!group.empty() && slice.object.pool_generation > group.front()->object.pool_generation) group.clear();
  group.push_back(&slice);
}

Slices NewestGeneration(const Slices& slices) {
  Slices newest;
  for (const InventorySlice* slice : slices) AddSlice(newest, *slice);
  return newest;
}

void Append(const BuiltPool& built, HeldDevices held, PoolSet& set) {
  const auto number = static_cast<std::uint32_t>(set.pools.size());
  const auto first_take = static_cast<std::uint32_t>(set.takes.size());
  Pool& pool = set.pools.emplace_back(built.pool);
  pool.first_device = static_cast<std::uint32_t>(set.devices.size());
  if (held == HeldDevices::kLeftOut && built.free == 0) return;
  set.takes.insert(set.takes.end(), built.takes.begin(), built.takes.end());
  for (const Candidate& device : built.devices) {
    if (held == HeldDevices::kLeftOut && IsHeld(device)) continue;
    Candidate& candidate = set.devices.emplace_back(device);
    candidate.pool = number;
    candidate.first_take += first_take;
  }
  pool.device_count = static_cast<std::uint32_t>(set.devices.size()) - pool.first_device;
}

// In the scheduler's order: by driver and name, but pools with binding conditions last.
PoolSet Assemble(std::vector<const BuiltPool*> pools, HeldDevices held) {
  std::ranges::sort(
      pools, {}, [](const BuiltPool* built) { return std::tuple(built->last, built->pool.driver, built->pool.name); });
  std::size_t devices = 0;
  for (const BuiltPool* built : pools) devices += held == HeldDevices::kLeftOut ? built->free : built->devices.size();
  PoolSet set;
  set.pools.reserve(pools.size());
  set.devices.reserve(devices);
  for (const BuiltPool* built : pools) Append(*built, held, set);
  return set;
}

}  // namespace

NodePools::NodePools(const Inventory& inventory, const AllocatedState& allocated, const Rules& rules)
    : inventory_(inventory), allocated_(allocated), rules_(rules), mixed_slice_(inventory.SliceCount()) {
  for (std::uint32_t index = 0; index < inventory.SliceCount(); ++index) {
    const api::ResourceSlice& slice = inventory.Slice(index).object;
    const auto slices = inventory.OfPool(slice.driver, slice.pool_name);
    if (slices.front() == index) AddPool(slices);
  }
}

void NodePools::AddPool(std::span<const std::uint32_t> slices) {
  Slices understood;
  for (const std::uint32_t index : slices) {
    if (Understood(inventory_.Slice(index), rules_)) understood.push_back(&inventory_.Slice(index));
  }
  if (understood.empty()) return;
  const std::string& node = understood.front()->object.node_name;
  const bool on_node = AllOnNode(understood, node, rules_);
  if (!on_node && !AllEverywhere(understood)) {
    any_mixed_ = true;
    for (const std::uint32_t index : slices) mixed_slice_[index] = Understood(inventory_.Slice(index), rules_);
    return;
  }
  auto built = BuildPool(NewestGeneration(understood), inventory_, allocated_, rules_);
  if (!built) return;
  (on_node ? by_node_[node] : everywhere_).push_back(static_cast<std::uint32_t>(ready_.size()));
  ready_.push_back(*std::move(built));
}

Result<std::vector<BuiltPool>> NodePools::BuildMixed(const Node& node) const {
  if (!any_mixed_) return std::vector<BuiltPool>();
  PoolMap<Slices> relevant;
  for (const std::uint32_t index : inventory_.ForNode(node.name, rules_.pulls_in_counter_slices)) {
    if (!mixed_slice_[index]) continue;
    const InventorySlice& slice = inventory_.Slice(index);
    auto reached = Relevant(slice.object, node, rules_);
    if (!reached) return std::unexpected(std::move(reached).error().Wrap(Format("slice {}", slice.object.name)));
    if (*reached) AddSlice(relevant[{slice.object.driver, slice.object.pool_name}], slice);
  }
  std::vector<BuiltPool> pools;
  for (auto& [id, slices] : relevant) {
    if (auto built = BuildPool(std::move(slices), inventory_, allocated_, rules_)) pools.push_back(*std::move(built));
  }
  return pools;
}

Result<PoolSet> NodePools::Of(const Node& node, HeldDevices held) const {
  TESSERA_ASSIGN(const std::vector<BuiltPool> mixed, BuildMixed(node));
  std::vector<const BuiltPool*> pools;
  for (const BuiltPool& built : mixed) pools.push_back(&built);
  for (const std::uint32_t index : everywhere_) pools.push_back(&ready_[index]);
  if (const auto own = by_node_.find(node.name); own != by_node_.end()) {
    for (const std::uint32_t index : own->second) pools.push_back(&ready_[index]);
  }
  return Assemble(std::move(pools), held);
}

}  // namespace tessera::alloc
