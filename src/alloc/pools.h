// alloc/pools.h: the pools that a node can reach, and their devices, in the order in which the scheduler tries them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/allocated_state.h"
#include "api/resource_slice.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cel/device_facts.h"

namespace tessera::alloc {

// A counter of a pool, and what is left of it. May be negative.
struct PoolCounter {
  std::string_view set, name;
  Quantity available;
};

// What a device takes of counter number `counter` of its pool.
struct CounterTake {
  std::uint32_t counter = 0;
  Quantity amount;
};

enum class PoolState : std::uint8_t {
  kUsable,
  kIncomplete,  // Some of its slices are missing: it is being updated.
  kInvalid,     // Its slices contradict each other.
};

struct Pool {
  std::string_view driver, name;
  PoolState state = PoolState::kUsable;
  std::string reason;              // Why it is not usable.
  std::uint32_t first_device = 0;  // Its devices in PoolSet::devices; none when it may not be used.
  std::uint32_t device_count = 0;
  std::vector<PoolCounter> counters;
};

// One device of a usable pool. Views into the inventory and the allocated state, which must outlive it.
struct Candidate {
  const api::Device* device = nullptr;
  const cel::DeviceFacts* facts = nullptr;
  const api::ResourceSlice* slice = nullptr;
  const DeviceUse* use = nullptr;  // By allocated claims; usually null.
  std::uint32_t pool = 0;
  std::uint32_t first_take = 0, take_count = 0;  // In PoolSet::takes.
};

struct PoolSet {
  std::vector<Pool> pools;         // In the scheduler's order.
  std::vector<Candidate> devices;  // Grouped by pool, in the scheduler's order.
  std::vector<CounterTake> takes;

  std::span<const CounterTake> TakesOf(const Candidate& candidate) const {
    return std::span(takes).subspan(candidate.first_take, candidate.take_count);
  }
};

// Whether an allocated claim has the device for itself.
inline bool IsHeld(const Candidate& candidate) { return candidate.use != nullptr && candidate.use->exclusive; }

// "driver/pool/device".
inline std::string DeviceName(const Candidate& candidate) {
  return Format("{}/{}/{}", candidate.slice->driver, candidate.slice->pool_name, candidate.device->name);
}

}  // namespace tessera::alloc
