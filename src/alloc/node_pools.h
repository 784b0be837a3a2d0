// alloc/node_pools.h: the pools of each node. Nearly every pool is all on one node, or reached by all: such a pool looks
// the same wherever it is seen, and is put together once.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/allocated_state.h"
#include "alloc/inventory.h"
#include "alloc/node.h"
#include "alloc/pool_build.h"
#include "alloc/pool_id.h"
#include "alloc/pools.h"
#include "alloc/rules.h"
#include "base/error.h"

namespace tessera::alloc {

// What becomes of devices that allocated claims have for themselves.
enum class HeldDevices : std::uint8_t { kLeftOut, kIncluded };

// Immutable, so safe from any thread. What it is given must outlive it and stay as it is.
class NodePools {
 public:
  NodePools(const Inventory& inventory, const AllocatedState& allocated, const Rules& rules);

  // Slices of old generations are left out. BadNodeSelector is fatal: the scheduler stops there, too.
  Result<PoolSet> Of(const Node& node, HeldDevices held) const;

 private:
  using Indices = Inventory::Indices;

  void AddPool(std::span<const std::uint32_t> slices);
  Result<std::vector<BuiltPool>> BuildMixed(const Node& node) const;

  const Inventory& inventory_;
  const AllocatedState& allocated_;
  const Rules rules_;
  std::vector<BuiltPool> ready_;
  NameTable<Indices> by_node_;     // In ready_: all slices name this node …
  Indices everywhere_;             // … or all are for every node.
  std::vector<bool> mixed_slice_;  // By slice: of a pool that nodes see differently.
  bool any_mixed_ = false;
};

}  // namespace tessera::alloc
