#include "alloc/pools.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tessera::alloc {
namespace {

using Slices = std::vector<const InventorySlice*>;

// What is known of one pool before it becomes part of a PoolSet.
struct Draft {
  Slices relevant;   // For this node, of the newest generation seen.
  Slices elsewhere;  // The pool's other slices of that generation.
  Slices devices, counters;
};

// Whether the release, with its gates, looks at such a slice at all.
bool Understood(const InventorySlice& slice, const Rules& rules) {
  if (!rules.gates.partitionable_devices &&
      (slice.object.per_device_node_selection || !slice.object.shared_counters.empty())) {
    return false;
  }
  return rules.release < cel::Release::k1_37 || !slice.has_compatibility_groups;
}

Result<bool> Relevant(const api::ResourceSlice& slice, const Node& node, const Rules& rules) {
  if (rules.pulls_in_counter_slices && !slice.shared_counters.empty()) return true;
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

// A newer generation replaces what was there, an older one is ignored.
void AddSlice(Slices& group, const InventorySlice& slice) {
  if (!group.empty() && slice.object.pool_generation < group.front()->object.pool_generation) return;
  if (!group.empty() && slice.object.pool_generation > group.front()->object.pool_generation) group.clear();
  group.push_back(&slice);
}

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

// A pool that has been looked at, and what its devices are made of when it is usable.
struct Entry {
  Pool pool;
  Draft draft;
  CounterIndex index;
  bool last = false;  // Pools with binding conditions come after all others.
};

// Builds one pool after the other into a PoolSet.
class Assembly {
 public:
  explicit Assembly(const AllocatedState& allocated) : allocated_(allocated) {}

  void Add(Entry entry) {
    if (entry.pool.state == PoolState::kUsable) {
      const PoolUse* use = allocated_.Find(entry.pool.driver, entry.pool.name);
      if (use != nullptr) TakeCounters(entry.pool, entry.draft, *use, entry.index);
      AddDevices(entry.pool, entry.draft, use, entry.index);
    }
    out_.pools.push_back(std::move(entry.pool));
  }

  PoolSet Take() { return std::move(out_); }

 private:
  // What allocated devices of the pool, on any node, leave of its counters.
  void TakeCounters(Pool& pool, const Draft& draft, const PoolUse& use, const CounterIndex& index) const {
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

  template <class Visit>
  static void ForEachTake(const api::Device& device, const CounterIndex& index, const Visit& visit) {
    if (index.empty()) return;  // The gate is off.
    for (const api::Counters& consumption : device.consumes_counters) {
      const auto& names = index.find(consumption.set)->second;
      for (const auto& [name, amount] : consumption.values) visit(names.find(name)->second, amount);
    }
  }

  void AddDevices(Pool& pool, const Draft& draft, const PoolUse* use, const CounterIndex& index) {
    pool.first_device = static_cast<std::uint32_t>(out_.devices.size());
    std::size_t count = 0;
    for (const InventorySlice* slice : draft.devices) count += slice->object.devices.size();
    if (out_.devices.empty()) out_.devices.reserve(count);  // Most nodes have one pool.
    for (const InventorySlice* slice : draft.devices) {
      for (std::size_t i = 0; i < slice->object.devices.size(); ++i) {
        const api::Device& device = slice->object.devices[i];
        Candidate candidate{.device = &device, .facts = &slice->facts[i], .slice = &slice->object};
        candidate.pool = static_cast<std::uint32_t>(out_.pools.size());
        if (use != nullptr) {
          if (const auto found = use->find(device.name); found != use->end()) candidate.use = &found->second;
        }
        candidate.first_take = static_cast<std::uint32_t>(out_.takes.size());
        ForEachTake(device, index, [&](std::uint32_t counter, const Quantity& amount) {
          out_.takes.push_back({.counter = counter, .amount = amount});
        });
        candidate.take_count = static_cast<std::uint32_t>(out_.takes.size()) - candidate.first_take;
        out_.devices.push_back(candidate);
      }
    }
    pool.device_count = static_cast<std::uint32_t>(out_.devices.size()) - pool.first_device;
  }

  const AllocatedState& allocated_;
  PoolSet out_;
};

bool HasBindingConditions(const Draft& draft) {
  return std::ranges::any_of(draft.devices, &InventorySlice::has_binding_conditions);
}

// Nothing when the whole pool is out of date.
std::optional<Entry> Judge(Draft draft, const Inventory& inventory, const Rules& rules) {
  const api::ResourceSlice& first = draft.relevant.front()->object;
  Entry entry{.pool = {.driver = first.driver, .name = first.pool_name}};
  if (std::cmp_not_equal(draft.relevant.size(), WantedSlices(draft))) {
    auto whole = WholePool(inventory, first, rules);
    if (!whole) return std::nullopt;
    if (std::cmp_not_equal(whole->size(), WantedSlices(draft)) && !rules.uses_incomplete_pools) {
      entry.pool.state = PoolState::kIncomplete;
      entry.pool.reason = Format("{} of {} slices of generation {} are here", whole->size(), WantedSlices(draft),
                                 first.pool_generation);
      return entry;
    }
    draft.elsewhere = *std::move(whole);
  }
  Sort(draft, rules);
  entry.draft = std::move(draft);
  const bool names_are_unique = inventory.NamesAreUnique(first.driver, first.pool_name);
  entry.pool.reason = Fault(entry.draft, names_are_unique, rules, entry.pool, entry.index);
  if (!entry.pool.reason.empty()) entry.pool.state = PoolState::kInvalid;
  entry.last = entry.pool.state == PoolState::kUsable && HasBindingConditions(entry.draft);
  return entry;
}

}  // namespace

Result<PoolSet> GatherPools(const Inventory& inventory, const Node& node, const AllocatedState& allocated,
                            const Rules& rules) {
  PoolMap<Draft> drafts;  // Sorted as the scheduler sorts.
  for (const std::uint32_t index : inventory.ForNode(node.name, rules.pulls_in_counter_slices)) {
    const InventorySlice& slice = inventory.Slice(index);
    if (!Understood(slice, rules)) continue;
    auto relevant = Relevant(slice.object, node, rules);
    if (!relevant) return std::unexpected(std::move(relevant).error().Wrap(Format("slice {}", slice.object.name)));
    if (*relevant) AddSlice(drafts[{slice.object.driver, slice.object.pool_name}].relevant, slice);
  }
  std::vector<Entry> entries;
  for (auto& [id, draft] : drafts) {
    if (auto entry = Judge(std::move(draft), inventory, rules)) entries.push_back(*std::move(entry));
  }
  std::ranges::stable_sort(entries, {}, &Entry::last);
  Assembly assembly(allocated);
  for (Entry& entry : entries) assembly.Add(std::move(entry));
  return assembly.Take();
}

std::string DeviceName(const Candidate& candidate) {
  return Format("{}/{}/{}", candidate.slice->driver, candidate.slice->pool_name, candidate.device->name);
}

}  // namespace tessera::alloc
