// alloc/checks.h: why a device cannot serve a request, whatever else is chosen. The checks and their order are the
// scheduler's.
#pragma once

#include <cstdint>
#include <string>

#include "alloc/matcher.h"
#include "alloc/plan.h"
#include "alloc/pools.h"
#include "alloc/rules.h"

namespace tessera::alloc {

enum class Obstacle : std::uint8_t {
  kNone,
  kHeld,       // Another claim has it.
  kSelector,   // A selector is false, or the node does not reach it.
  kFault,      // A selector fails, or an amount makes no sense: the scheduler stops when it gets here.
  kCapacity,   // Not what its policy allows, or not enough is left.
  kCounters,   // What it takes of its pool's counters is not there.
  kTaint,      // A taint is not tolerated.
  kAttribute,  // A constraint needs an attribute that it does not have.
};

// What one attempt to allocate is about; all of it outlives the attempt.
struct Problem {
  const PoolSet& pools;
  const Rules& rules;
  Matcher& matcher;
  const Plan& plan;
};

// The first that applies, on the assumption that nothing has been chosen yet.
Obstacle FirstObstacle(const Problem& problem, std::size_t number, std::uint32_t device);

// What FirstObstacle() found, in words and with the values concerned.
std::string Describe(const Problem& problem, std::size_t number, std::uint32_t device, Obstacle obstacle);

// Whether shares of the device may be given to several requests.
bool IsShareable(const Candidate& candidate, const Rules& rules);

// Whether an allocated share has paid for the device's counters already.
bool CountersPaid(const Candidate& candidate, const Rules& rules);

// What allocated claims consume of its capacity; null: nothing.
const Amounts* TakenOf(const Candidate& candidate);

// Those of devices and those of nodes follow the same rule.
bool Tolerates(const api::Toleration& toleration, const api::Taint& taint);

// The first taint that keeps the request away, or null.
const api::Taint* FirstUntolerated(const api::Device& device, const api::DeviceRequest& request, const Rules& rules);

// Whether a counter of the pool is overdrawn. Then no device that takes any counter fits.
bool IsOverdrawn(const Pool& pool);

}  // namespace tessera::alloc
