#include "alloc/checks.h"

#include <algorithm>

#include "alloc/capacity.h"
#include "base/text.h"

namespace tessera::alloc {
namespace {

const CounterTake* FirstMissing(const PoolSet& pools, const Candidate& candidate) {
  const Pool& pool = pools.pools[candidate.pool];
  for (const CounterTake& take : pools.TakesOf(candidate)) {
    if (pool.counters[take.counter].available < take.amount) return &take;
  }
  return nullptr;
}

bool LacksCounters(const Problem& problem, const Candidate& candidate) {
  if (candidate.device->consumes_counters.empty()) return false;
  if (!problem.rules.gates.partitionable_devices) return true;
  if (IsShareable(candidate, problem.rules) && CountersPaid(candidate, problem.rules)) return false;
  return IsOverdrawn(problem.pools.pools[candidate.pool]) || FirstMissing(problem.pools, candidate) != nullptr;
}

const PlannedConstraint* FirstWithoutAttribute(const Problem& problem, const Option& option,
                                               const Candidate& candidate) {
  for (const std::uint32_t number : option.constraints) {
    const PlannedConstraint& constraint = problem.plan.claims[option.claim].constraints[number];
    if (FindAttribute(candidate, constraint.attribute()) == nullptr) return &constraint;
  }
  return nullptr;
}

std::string DescribeCounters(const Problem& problem, const Candidate& candidate) {
  if (!problem.rules.gates.partitionable_devices) return "it takes counters, but DRAPartitionableDevices is off";
  const CounterTake* take = FirstMissing(problem.pools, candidate);
  if (take == nullptr) return "a counter of its pool is overdrawn";
  const PoolCounter& counter = problem.pools.pools[candidate.pool].counters[take->counter];
  return Format("it takes {} of counter {}/{}, but {} is left", take->amount.ToString(), counter.set, counter.name,
                counter.available.ToString());
}

}  // namespace

bool IsShareable(const Candidate& candidate, const Rules& rules) {
  return rules.gates.consumable_capacity && candidate.device->allow_multiple_allocations;
}

bool CountersPaid(const Candidate& candidate, const Rules& rules) {
  if (candidate.use == nullptr) return false;
  return candidate.use->counts_capacity || (rules.any_share_takes_counters && candidate.use->shared);
}

const Amounts* TakenOf(const Candidate& candidate) {
  return candidate.use != nullptr && candidate.use->counts_capacity ? &candidate.use->consumed : nullptr;
}

bool Tolerates(const api::Toleration& toleration, const api::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
}

const api::Taint* FirstUntolerated(const api::Device& device, const api::DeviceRequest& request, const Rules& rules) {
  if (!rules.gates.device_taints) return nullptr;
  for (const api::Taint& taint : device.taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    if (std::ranges::none_of(request.tolerations, [&](const auto& t) { return Tolerates(t, taint); })) return &taint;
  }
  return nullptr;
}

bool IsOverdrawn(const Pool& pool) {
  return std::ranges::any_of(pool.counters, [](const PoolCounter& counter) { return counter.available.Sign() < 0; });
}

Obstacle FirstObstacle(const Problem& problem, std::size_t number, std::uint32_t device) {
  const Option& option = problem.plan.options[number];
  const Candidate& candidate = problem.pools.devices[device];
  if (!option.admin && IsHeld(candidate)) return Obstacle::kHeld;
  const Match match = problem.matcher.Ask(number, device);
  if (match == Match::kFault) return Obstacle::kFault;
  if (match != Match::kYes) return Obstacle::kSelector;
  if (problem.rules.gates.consumable_capacity) {
    const Fit fit = CheckCapacity(*option.request, *candidate.device, TakenOf(candidate), nullptr, problem.rules);
    if (fit == Fit::kFault && problem.rules.capacity_faults_are_fatal) return Obstacle::kFault;
    if (fit != Fit::kFits) return Obstacle::kCapacity;
  }
  if (LacksCounters(problem, candidate)) return Obstacle::kCounters;
  if (FirstUntolerated(*candidate.device, *option.request, problem.rules) != nullptr) return Obstacle::kTaint;
  if (FirstWithoutAttribute(problem, option, candidate) != nullptr) return Obstacle::kAttribute;
  return Obstacle::kNone;
}

std::string Describe(const Problem& problem, std::size_t number, std::uint32_t device, Obstacle obstacle) {
  const Option& option = problem.plan.options[number];
  const Candidate& candidate = problem.pools.devices[device];
  switch (obstacle) {
    case Obstacle::kNone:
      return "nothing rules it out";
    case Obstacle::kHeld:
      return "another claim has it";
    case Obstacle::kSelector:
      return problem.matcher.WhyNot(number, device);
    case Obstacle::kFault:
      if (problem.matcher.Ask(number, device) == Match::kFault) return problem.matcher.FaultOf(number, device).Text();
      return Consumed(*option.request, *candidate.device, problem.rules).error().Text();
    case Obstacle::kCapacity:
      return DescribeMisfit(*option.request, *candidate.device, TakenOf(candidate), problem.rules);
    case Obstacle::kCounters:
      return DescribeCounters(problem, candidate);
    case Obstacle::kTaint:
      return Format("taint {} is not tolerated",
                    api::ToText(*FirstUntolerated(*candidate.device, *option.request, problem.rules)));
    case Obstacle::kAttribute:
      return Format("it has no attribute {}", FirstWithoutAttribute(problem, option, candidate)->attribute().full);
  }
  Abort("an obstacle without a description");
}

}  // namespace tessera::alloc
