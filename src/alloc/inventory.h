// alloc/inventory.h: the slices of a cluster, made ready once and asked for any number of nodes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/pool_id.h"
#include "api/resource_slice.h"
#include "cel/device_facts.h"

namespace tessera::alloc {

// A slice with its devices as selectors see them, in the same order.
struct InventorySlice {
  api::ResourceSlice object;
  std::vector<cel::DeviceFacts> facts;
};

// Immutable, so safe from any thread. Taints of DeviceTaintRules are in the slices already.
class Inventory {
 public:
  explicit Inventory(std::vector<api::ResourceSlice> slices);

  using Indices = std::vector<std::uint32_t>;

  const InventorySlice& Slice(std::uint32_t index) const { return slices_[index]; }

  // Those that may matter to a node, in the order given: its own, then those for several. `with_counters` adds others'
  // slices that hold counters.
  Indices ForNode(std::string_view node, bool with_counters) const;

  // All slices of a pool, of every generation.
  std::span<const std::uint32_t> OfPool(std::string_view driver, std::string_view pool) const;

 private:
  std::vector<InventorySlice> slices_;
  std::map<std::string, Indices, std::less<>> by_node_;
  Indices shared_;           // Without a node name.
  Indices shared_counters_;  // The same, and every slice with counters.
  PoolMap<Indices> by_pool_;
};

}  // namespace tessera::alloc
