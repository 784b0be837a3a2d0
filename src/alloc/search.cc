#include "alloc/search.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::alloc {
namespace {

// Most searches end at once; looking ahead costs a look at every device for every request.
constexpr std::uint64_t kStepsBeforeLookingAhead = 16;

}  // namespace

Search::Search(const Problem& problem, const SearchLimits& limits)
    : problem_(problem),
      limits_(limits),
      choices_(problem.plan.claims.size()),
      taken_(problem.pools.devices.size()),
      consumed_(problem.pools.pools.size()),
      constraints_(problem.plan.constraint_count) {
  for (const PlannedClaim& claim : problem.plan.claims) {
    selected_.emplace_back();
    for (const PlannedRequest& request : claim.requests) selected_.back().push_back(request.first_option);
  }
  for (const Pool& pool : problem.pools.pools) overdrawn_.push_back(IsOverdrawn(pool));
  if (problem.rules.invalid_pool_is_fatal) barrier_ = FirstInvalidPool();
}

const Pool* Search::FirstInvalidPool() const {
  const auto found = std::ranges::find(problem_.pools.pools, PoolState::kInvalid, &Pool::state);
  return found == problem_.pools.pools.end() ? nullptr : &*found;
}

Result<bool> Search::Run() {
  const End end = EnterRequest(0, 0);
  if (end == End::kFailed) return std::unexpected(*std::move(error_));
  return end == End::kFound;
}

Search::End Search::Fail(Error error) {
  error_ = std::move(error);
  return End::kFailed;
}

Search::End Search::FailAt(const Pool& invalid) {
  return Fail(Error(ErrorKind::kPermanentConfig, "ClaimNotAllocatable",
                    Format("pool {} is invalid: {}", invalid.name, invalid.reason)));
}

Search::Try Search::Refuse(Error error) {
  error_ = std::move(error);
  return Try::kFailed;
}

bool Search::Step() {
  if (++steps_ <= limits_.max_steps) return true;
  error_ = Error(ErrorKind::kTransient, "AllocationUndecided",
                 Format("no answer after {} steps; the scheduler, too, may give up here", limits_.max_steps),
                 "ask for less at once, or narrow the selectors");
  return false;
}

Search::End Search::EnterRequest(std::uint32_t claim, std::uint32_t request) {
  if (!Step()) return End::kFailed;
  if (claim >= problem_.plan.claims.size()) return End::kFound;
  const PlannedClaim& planned = problem_.plan.claims[claim];
  if (request >= planned.requests.size()) {
    const End end = EnterRequest(claim + 1, 0);
    return end == End::kTooMany ? End::kDead : end;  // An earlier claim may leave this one another option.
  }
  if (planned.requests[request].prioritized) return TryOptions(planned.requests[request]);
  return Place(planned.requests[request].first_option, 0, 0);
}

Search::End Search::TryOptions(const PlannedRequest& request) {
  bool all_too_many = true;
  for (std::uint32_t i = 0; i < request.option_count; ++i) {
    const std::uint32_t number = request.first_option + i;
    const Option& option = problem_.plan.options[number];
    selected_[option.claim][option.main] = number;
    const End end = EnterOption(number, 0, 0);
    if (end == End::kFound || end == End::kFailed) return end;
    all_too_many = all_too_many && end == End::kTooMany;
  }
  return all_too_many ? End::kTooMany : End::kDead;
}

Search::End Search::EnterOption(std::uint32_t option, std::uint64_t number, std::uint32_t start) {
  return Step() ? Place(option, number, start) : End::kFailed;
}

Search::End Search::Place(std::uint32_t number, std::uint64_t placed, std::uint32_t start) {
  const Option& option = problem_.plan.options[number];
  if (option.all && option.everything.empty()) return End::kDead;
  if (placed >= option.count) return EnterRequest(option.claim, option.main + 1);
  if (option.count - placed > kMaxResults - choices_[option.claim].size()) return End::kTooMany;
  return option.all ? PlaceFixed(number, placed) : Walk(number, placed, start);
}

Search::End Search::PlaceFixed(std::uint32_t number, std::uint64_t placed) {
  const std::uint32_t device = problem_.plan.options[number].everything[placed];
  const Try taken = Take(number, device, true);
  if (taken != Try::kTaken) return taken == Try::kFailed ? End::kFailed : End::kDead;
  const End end = EnterOption(number, placed + 1, 0);
  if (end != End::kFound) GiveBack();
  return end;
}

Search::End Search::Walk(std::uint32_t number, std::uint64_t placed, std::uint32_t start) {
  const auto devices = static_cast<std::uint32_t>(problem_.pools.devices.size());
  const std::uint32_t end_of_walk = barrier_ == nullptr ? devices : barrier_->first_device;
  for (std::uint32_t device = start; device < end_of_walk; ++device) {
    if (outlook_) {
      if (CutOff(number, placed, device)) return End::kDead;
      if (!outlook_->Allows(number, device) || TriedATwin(device, start)) continue;
    }
    const Try taken = Look(number, device);
    if (taken == Try::kFailed) return End::kFailed;
    if (taken == Try::kNot) continue;
    const End end = EnterOption(number, placed + 1, problem_.rules.repeats_within_request ? 0 : device + 1);
    if (end == End::kFound) return end;
    GiveBack();
    if (end != End::kDead) return end;
  }
  if (barrier_ != nullptr) return FailAt(*barrier_);
  AfterDeadEnd();
  return End::kDead;
}

// Whether too few devices are left from `start` on.
bool Search::CutOff(std::uint32_t number, std::uint64_t placed, std::uint32_t start) const {
  if (outlook_->Hopeless()) return true;
  return outlook_->Left(number, start) < problem_.plan.options[number].count - placed;
}

// Whether a device that cannot be told from this one has been tried in the same place, in vain. All from `start` on
// that were free have been.
bool Search::TriedATwin(std::uint32_t device, std::uint32_t start) const {
  if (taken_[device] != 0) return false;
  for (auto twin = outlook_->EarlierTwin(device); twin && *twin >= start; twin = outlook_->EarlierTwin(*twin)) {
    if (taken_[*twin] == 0) return true;
  }
  return false;
}

void Search::AfterDeadEnd() {
  if (looked_ahead_ || !limits_.prune || steps_ < kStepsBeforeLookingAhead) return;
  looked_ahead_ = true;
  outlook_ = Outlook::Of(problem_);
}

bool Search::InUse(const Option& option, std::uint32_t device) const {
  if (!option.admin) {
    return taken_[device] != 0 || IsHeld(problem_.pools.devices[device]);
  }
  if (taken_[device] == 0) return false;
  const auto& own = choices_[option.claim];
  return std::ranges::any_of(own, [&](const Choice& choice) { return choice.device == device && !choice.share; });
}

Fit Search::CapacityFit(const Option& option, std::uint32_t device) const {
  if (!problem_.rules.gates.consumable_capacity) return Fit::kFits;
  const Candidate& candidate = problem_.pools.devices[device];
  const auto now = shares_.find(device);
  return CheckCapacity(*option.request, *candidate.device, TakenOf(candidate),
                       now == shares_.end() ? nullptr : &now->second.consumed, problem_.rules);
}

Search::Try Search::Look(std::uint32_t number, std::uint32_t device) {
  const Option& option = problem_.plan.options[number];
  if (InUse(option, device)) return Try::kNot;
  const Match match = problem_.matcher.Ask(number, device);
  if (match == Match::kFault) return Refuse(problem_.matcher.FaultOf(number, device));
  if (match != Match::kYes) return Try::kNot;
  const Fit fit = CapacityFit(option, device);
  if (fit == Fit::kFault && problem_.rules.capacity_faults_are_fatal) {
    const Candidate& candidate = problem_.pools.devices[device];
    const std::string claim = api::ToText(problem_.plan.claims[option.claim].claim->ref);
    return Refuse(Consumed(*option.request, *candidate.device, problem_.rules)
                      .error()
                      .Wrap(Format("claim {}, request {}: checking capacity for device {}", claim, option.name,
                                   DeviceName(candidate))));
  }
  return fit == Fit::kFits ? Take(number, device, false) : Try::kNot;
}

Search::Try Search::Take(std::uint32_t number, std::uint32_t device, bool fixed) {
  const Option& option = problem_.plan.options[number];
  const Candidate& candidate = problem_.pools.devices[device];
  if (InUse(option, device)) return Try::kNot;
  const bool draws = !candidate.device->consumes_counters.empty();
  if (draws && !problem_.rules.gates.partitionable_devices) return Try::kNot;
  const bool paid =
      IsShareable(candidate, problem_.rules) && (CountersPaid(candidate, problem_.rules) || shares_.contains(device));
  const bool reserve = draws && !paid;
  if (reserve && !ReserveCounters(candidate)) return Try::kNot;
  if (FirstUntolerated(*candidate.device, *option.request, problem_.rules) != nullptr) {
    if (reserve) ReleaseCounters(candidate);
    return Try::kNot;
  }
  if (!AddToConstraints(option, candidate)) {
    if (reserve) ReleaseCounters(candidate);
    if (!fixed) return Try::kNot;
    return Refuse(
        Error(ErrorKind::kPermanentConfig, "ClaimNotAllocatable",
              Format("claim {}, request {}: cannot add device {} because a claim constraint would not be satisfied",
                     api::ToText(problem_.plan.claims[option.claim].claim->ref), option.name, DeviceName(candidate))));
  }
  if (fixed && CapacityFit(option, device) != Fit::kFits) {
    RemoveFromConstraints(option, option.constraints.size());
    if (reserve) ReleaseCounters(candidate);
    return Try::kNot;
  }
  Record(number, device, reserve);
  return Try::kTaken;
}

bool Search::ReserveCounters(const Candidate& candidate) {
  if (overdrawn_[candidate.pool]) return false;
  const Pool& pool = problem_.pools.pools[candidate.pool];
  std::vector<Quantity>& consumed = consumed_[candidate.pool];
  if (consumed.empty()) consumed.resize(pool.counters.size());
  bool enough = true;
  for (const CounterTake& take : problem_.pools.TakesOf(candidate)) {
    consumed[take.counter].Add(take.amount);
    enough = enough && consumed[take.counter] <= pool.counters[take.counter].available;
  }
  if (!enough) ReleaseCounters(candidate);
  return enough;
}

void Search::ReleaseCounters(const Candidate& candidate) {
  for (const CounterTake& take : problem_.pools.TakesOf(candidate)) {
    consumed_[candidate.pool][take.counter].Sub(take.amount);
  }
}

// Of the option's constraint number `index`.
ConstraintState& Search::StateOf(const Option& option, std::size_t index) {
  return constraints_[problem_.plan.claims[option.claim].first_constraint + option.constraints[index]];
}

bool Search::AddToConstraints(const Option& option, const Candidate& candidate) {
  const auto& constraints = problem_.plan.claims[option.claim].constraints;
  for (std::size_t i = 0; i < option.constraints.size(); ++i) {
    if (StateOf(option, i).Add(constraints[option.constraints[i]], option.main, candidate)) continue;
    RemoveFromConstraints(option, i);
    return false;
  }
  return true;
}

void Search::RemoveFromConstraints(const Option& option, std::size_t count) {
  const auto& constraints = problem_.plan.claims[option.claim].constraints;
  for (std::size_t i = count; i > 0; --i) {
    StateOf(option, i - 1).Remove(constraints[option.constraints[i - 1]], option.main);
  }
}

void Search::Record(std::uint32_t number, std::uint32_t device, bool counters) {
  const Option& option = problem_.plan.options[number];
  const Candidate& candidate = problem_.pools.devices[device];
  Choice choice{.device = device, .option = number, .share = IsShareable(candidate, problem_.rules)};
  if (choice.share) {
    auto consumed = Consumed(*option.request, *candidate.device, problem_.rules);
    if (!consumed) Abort("a capacity fitted, and then could not be told");
    choice.consumed = *std::move(consumed);
    Shares& shares = shares_[device];
    ++shares.count;
    for (const auto& [name, amount] : choice.consumed) shares.consumed[name].Add(amount);
  } else {
    ++taken_[device];
  }
  choices_[option.claim].push_back(std::move(choice));
  undo_.emplace_back(option.claim, counters);
}

void Search::GiveBack() {
  const auto [claim, counters] = undo_.back();
  undo_.pop_back();
  const Choice choice = std::move(choices_[claim].back());
  choices_[claim].pop_back();
  const Option& option = problem_.plan.options[choice.option];
  const Candidate& candidate = problem_.pools.devices[choice.device];
  if (choice.share) {
    const auto shares = shares_.find(choice.device);
    for (const auto& [name, amount] : choice.consumed) shares->second.consumed[name].Sub(amount);
    if (--shares->second.count == 0) shares_.erase(shares);
  } else {
    --taken_[choice.device];
  }
  RemoveFromConstraints(option, option.constraints.size());
  if (counters) ReleaseCounters(candidate);
}

}  // namespace tessera::alloc
