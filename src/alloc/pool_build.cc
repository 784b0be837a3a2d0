#include "alloc/pool_build.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace tessera::alloc {
namespace {

// A pool's slices, by what they are for.
struct Draft {
  Slices relevant;   // For this node.
  Slices elsewhere;  // The pool's other slices of the same generation.
  Slices devices, counters;
};

std::int64_t WantedSlices(const Draft& draft) { return draft.relevant.front()->object.pool_slice_count; }

// All slices of the pool in this generation, wherever they are. Nothing when there is a newer generation.
std::optional<Slices> WholePool(const Inventory& inventory, const api::ResourceSlice& known, const Rules& rules) {
  Slices all;
  for (const std::uint32_t index : inventory.OfPool(known.driver, known.pool_name)) {
    const InventorySlice& slice = inventory.Slice(index);
    if (slice.object.pool_generation > known.pool_generation) return std::nullopt;
    if (slice.object.pool_generation < known.pool_generation) continue;
    if (rules.release >= cel::Release::k1_37 && slice.has_compatibility_groups) continue;
    all.push_back(&slice);
  }
  return all;
}

// Separates slices with counters from those with devices.
void Sort(Draft& draft, const Rules& rules) {
  std::ranges::stable_sort(draft.relevant, {},
                           [](const InventorySlice* slice) { return std::string_view(slice->object.name); });
  for (const InventorySlice* slice : draft.relevant) {
    const bool counters = rules.gates.partitionable_devices && !slice->object.shared_counters.empty();
    (counters ? draft.counters : draft.devices).push_back(slice);
  }
  std::erase_if(draft.elsewhere, [&](const InventorySlice* slice) {
    if (std::ranges::any_of(draft.relevant,
                            [&](const auto* other) { return other->object.name == slice->object.name; })) {
      return true;
    }
    // Up to 1.36 every slice with counters is relevant already.
    if (!rules.gates.partitionable_devices || slice->object.shared_counters.empty()) return false;
    if (!rules.pulls_in_counter_slices) draft.counters.push_back(slice);
    return true;
  });
}

std::string DuplicateDevice(const Slices& slices) {
  std::set<std::string_view> names;
  for (const InventorySlice* slice : slices) {
    for (const api::Device& device : slice->object.devices) {
      if (!names.insert(device.name).second) return Format("duplicate device name {}", device.name);
    }
  }
  return {};
}

// The counters of a pool by set and name, while it is put together.
using CounterIndex = std::map<std::string_view, std::map<std::string_view, std::uint32_t>>;

// Returns what is wrong, or nothing.
std::string CollectCounters(const Slices& slices, Pool& pool, CounterIndex& index) {
  for (const InventorySlice* slice : slices) {
    for (const api::Counters& set : slice->object.shared_counters) {
      if (index.contains(set.set)) return Format("duplicate counter set name {}", set.set);
      auto& names = index[set.set];
      for (const auto& [name, value] : set.values) {
        names.emplace(name, static_cast<std::uint32_t>(pool.counters.size()));
        pool.counters.push_back({.set = set.set, .name = name, .available = value});
      }
    }
  }
  return {};
}

std::string UnknownCounter(const Slices& slices, const CounterIndex& index) {
  for (const InventorySlice* slice : slices) {
    if (!slice->consumes_counters) continue;
    for (const api::Device& device : slice->object.devices) {
      for (const api::Counters& consumption : device.consumes_counters) {
        const auto set = index.find(consumption.set);
        if (set == index.end()) return Format("counter set {} not found", consumption.set);
        for (const auto& [name, value] : consumption.values) {
          if (!set->second.contains(name)) return Format("counter {} not found in counter set {}", name, set->first);
        }
      }
    }
  }
  return {};
}

// What is wrong with the pool as a whole, or nothing. Fills in its counters.
std::string Fault(const Draft& draft, bool names_are_unique, const Rules& rules, Pool& pool, CounterIndex& index) {
  std::string fault = names_are_unique ? "" : DuplicateDevice(draft.devices);
  if (!fault.empty() || !rules.gates.partitionable_devices) return fault;
  fault = CollectCounters(draft.counters, pool, index);
  if (fault.empty()) fault = UnknownCounter(draft.devices, index);
  if (fault.empty()) fault = UnknownCounter(draft.elsewhere, index);
  return fault;
}

template <class Visit>
void ForEachTake(const api::Device& device, const CounterIndex& index, const Visit& visit) {
  if (index.empty()) return;  // The gate is off.
  for (const api::Counters& consumption : device.consumes_counters) {
    const auto& names = index.find(consumption.set)->second;
    for (const auto& [name, amount] : consumption.values) visit(names.find(name)->second, amount);
  }
}

// What allocated devices of the pool, on any node, leave of its counters.
void TakeCounters(const Draft& draft, const PoolUse& use, const CounterIndex& index, Pool& pool) {
  for (const Slices* slices : {&draft.devices, &draft.elsewhere}) {
    for (const InventorySlice* slice : *slices) {
      for (const api::Device& device : slice->object.devices) {
        if (!use.contains(device.name)) continue;
        ForEachTake(device, index, [&](std::uint32_t counter, const Quantity& amount) {
          pool.counters[counter].available.Sub(amount);
        });
      }
    }
  }
}

const DeviceUse* UseOf(const api::Device& device, const PoolUse* use) {
  if (use == nullptr) return nullptr;
  const auto found = use->find(device.name);
  return found == use->end() ? nullptr : &found->second;
}

void AddDevices(const Slices& slices, const PoolUse* use, const CounterIndex& index, BuiltPool& built) {
  std::size_t count = 0;
  for (const InventorySlice* slice : slices) count += slice->object.devices.size();
  built.devices.reserve(count);
  for (const InventorySlice* slice : slices) {
    for (std::size_t i = 0; i < slice->object.devices.size(); ++i) {
      const api::Device& device = slice->object.devices[i];
      Candidate& candidate = built.devices.emplace_back(&device, &slice->facts[i], &slice->object, UseOf(device, use));
      candidate.first_take = static_cast<std::uint32_t>(built.takes.size());
      ForEachTake(device, index, [&](std::uint32_t counter, const Quantity& amount) {
        built.takes.push_back({.counter = counter, .amount = amount});
      });
      candidate.take_count = static_cast<std::uint32_t>(built.takes.size()) - candidate.first_take;
      if (!IsHeld(candidate)) ++built.free;
    }
  }
}

bool HasBindingConditions(const Draft& draft) {
  return std::ranges::any_of(draft.devices, &InventorySlice::has_binding_conditions);
}

}  // namespace

std::optional<BuiltPool> BuildPool(Slices relevant, const Inventory& inventory, const AllocatedState& allocated,
                                   const Rules& rules) {
  Draft draft{.relevant = std::move(relevant)};
  const api::ResourceSlice& first = draft.relevant.front()->object;
  BuiltPool built{.pool = {.driver = first.driver, .name = first.pool_name}};
  if (std::cmp_not_equal(draft.relevant.size(), WantedSlices(draft))) {
    auto here = rules.uses_incomplete_pools ? draft.relevant : WholePool(inventory, first, rules);
    if (!here) return std::nullopt;
    if (std::cmp_not_equal(here->size(), WantedSlices(draft))) {
      built.pool.state = PoolState::kIncomplete;
      built.pool.reason =
          Format("{} of {} slices of generation {} are here", here->size(), WantedSlices(draft), first.pool_generation);
      if (!rules.uses_incomplete_pools) return built;
    }
    draft.elsewhere = *std::move(here);
  }
  Sort(draft, rules);
  CounterIndex index;
  const bool names_are_unique = inventory.NamesAreUnique(first.driver, first.pool_name);
  if (std::string fault = Fault(draft, names_are_unique, rules, built.pool, index); !fault.empty()) {
    built.pool.state = PoolState::kInvalid;
    built.pool.reason = std::move(fault);
    return built;
  }
  built.last = HasBindingConditions(draft);
  const PoolUse* use = allocated.Find(first.driver, first.pool_name);
  if (use != nullptr) TakeCounters(draft, *use, index, built.pool);
  AddDevices(draft.devices, use, index, built);
  return built;
}

}  // namespace tessera::alloc
