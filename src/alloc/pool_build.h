// alloc/pool_build.h: puts a pool together from its slices: whether it is complete and makes sense, what is left of its
// counters, and its devices.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "alloc/allocated_state.h"
#include "alloc/inventory.h"
#include "alloc/pools.h"
#include "alloc/rules.h"

namespace tessera::alloc {

using Slices = std::vector<const InventorySlice*>;

// A pool that is not yet part of a PoolSet: its devices and what they take are numbered from 0.
struct BuiltPool {
  Pool pool;
  bool last = false;  // Pools with binding conditions come after all others.
  std::vector<Candidate> devices;
  std::vector<CounterTake> takes;
  std::uint32_t free = 0;  // Of the devices, those that nobody holds.
};

// `relevant`: at least one slice; those that matter to a node, of one generation. Nothing when the pool has a newer one.
std::optional<BuiltPool> BuildPool(Slices relevant, const Inventory& inventory, const AllocatedState& allocated,
                                   const Rules& rules);

}  // namespace tessera::alloc
