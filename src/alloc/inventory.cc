#include "alloc/inventory.h"

#include <algorithm>

#include "api/device_facts.h"

namespace tessera::alloc {

Inventory::Inventory(std::vector<api::ResourceSlice> slices) {
  slices_.reserve(slices.size());
  for (api::ResourceSlice& object : slices) Add(std::move(object));
  for (auto& [id, pool] : by_pool_) pool.names_are_unique = FindNoNameTwice(pool.indices);
}

void Inventory::Add(api::ResourceSlice object) {
  const auto index = static_cast<std::uint32_t>(slices_.size());
  InventorySlice& slice = slices_.emplace_back(std::move(object));
  slice.facts.reserve(slice.object.devices.size());
  for (const api::Device& device : slice.object.devices) {
    slice.facts.push_back(api::FactsOf(device, slice.object.driver));
    slice.has_compatibility_groups = slice.has_compatibility_groups || device.has_compatibility_groups;
    slice.has_binding_conditions = slice.has_binding_conditions || !device.binding_conditions.empty();
    slice.consumes_counters = slice.consumes_counters || !device.consumes_counters.empty();
  }
  const bool local = !slice.object.node_name.empty();
  if (local) by_node_[slice.object.node_name].push_back(index);
  if (!local) shared_.push_back(index);
  if (!local || !slice.object.shared_counters.empty()) shared_counters_.push_back(index);
  by_pool_[{slice.object.driver, slice.object.pool_name}].indices.push_back(index);
}

bool Inventory::FindNoNameTwice(const Indices& indices) const {
  std::vector<std::string_view> names;
  for (const std::uint32_t index : indices) {
    for (const api::Device& device : slices_[index].object.devices) names.emplace_back(device.name);
  }
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}

Inventory::Indices Inventory::ForNode(std::string_view node, bool with_counters) const {
  Indices indices;
  if (const auto own = by_node_.find(node); own != by_node_.end()) {
    for (const std::uint32_t index : own->second) {
      // With counters, a slice that has them is among the shared ones.
      if (!with_counters || slices_[index].object.shared_counters.empty()) indices.push_back(index);
    }
  }
  const Indices& shared = with_counters ? shared_counters_ : shared_;
  indices.insert(indices.end(), shared.begin(), shared.end());
  return indices;
}

std::span<const std::uint32_t> Inventory::OfPool(std::string_view driver, std::string_view pool) const {
  const auto found = by_pool_.find(std::pair(driver, pool));
  if (found == by_pool_.end()) return {};
  return found->second.indices;
}

bool Inventory::NamesAreUnique(std::string_view driver, std::string_view pool) const {
  const auto found = by_pool_.find(std::pair(driver, pool));
  return found == by_pool_.end() || found->second.names_are_unique;
}

}  // namespace tessera::alloc
