// alloc/inventory.h: the slices of a cluster, made ready once and asked for any number of nodes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/pool_id.h"
#include "api/resource_slice.h"
#include "cel/device_facts.h"

namespace tessera::alloc {

// A slice with its devices as selectors see them, in the same order; and what any of its devices has, so that nobody
// needs to look at each.
struct InventorySlice {
  api::ResourceSlice object;
  std::vector<cel::DeviceFacts> facts;
  bool has_compatibility_groups = false;
  bool has_binding_conditions = false;
  bool consumes_counters = false;
};

// Immutable, so safe from any thread. Taints of DeviceTaintRules are in the slices already.
class Inventory {
 public:
  explicit Inventory(std::vector<api::ResourceSlice> slices);

  using Indices = std::vector<std::uint32_t>;

  std::uint32_t SliceCount() const { return static_cast<std::uint32_t>(slices_.size()); }
  const InventorySlice& Slice(std::uint32_t index) const { return slices_[index]; }

  // Those that may matter to a node, in the order given: its own, then those for several. `with_counters` adds others'
  // slices that hold counters.
  Indices ForNode(std::string_view node, bool with_counters) const;

  // All slices of a pool, of every generation, in the order given.
  std::span<const std::uint32_t> OfPool(std::string_view driver, std::string_view pool) const;

  // Whether a device's name stands only once in all slices of its pool.
  bool NamesAreUnique(std::string_view driver, std::string_view pool) const;

 private:
  struct PoolSlices {
    Indices indices;
    bool names_are_unique = true;
  };

  void Add(api::ResourceSlice object);
  bool FindNoNameTwice(const Indices& indices) const;

  std::vector<InventorySlice> slices_;
  NameTable<Indices> by_node_;
  Indices shared_;           // Without a node name.
  Indices shared_counters_;  // The same, and every slice with counters.
  PoolTable<PoolSlices> by_pool_;
};

}  // namespace tessera::alloc
