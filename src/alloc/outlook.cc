#include "alloc/outlook.h"

#include <algorithm>
#include <map>
#include <string>

#include "alloc/attribute_values.h"
#include "base/text.h"

namespace tessera::alloc {
namespace {

// Whether a path through this option may end in an error, or leaves traces behind that later paths see.
bool DependsOnPath(const Problem& problem, const Option& option) {
  if (problem.rules.repeats_within_request) return true;
  if (option.all && !option.constraints.empty()) return true;  // A constraint that fails there is an error.
  if (!problem.rules.distinct_keeps_last_only || option.count < 2) return false;
  const auto& constraints = problem.plan.claims[option.claim].constraints;
  return std::ranges::any_of(option.constraints, [&](std::uint32_t c) { return !constraints[c].matches(); });
}

}  // namespace

class OutlookBuilder {
 public:
  explicit OutlookBuilder(const Problem& problem) : problem_(problem) {}

  std::optional<Outlook> Build() {
    if (!LookAtRequests()) return std::nullopt;
    if (out_.hopeless_) return std::move(out_);
    for (bool changed = true; changed && !out_.hopeless_;) {
      changed = DropShortValues();
      changed = DropShortOptions() || changed;
      out_.hopeless_ = out_.hopeless_ || !EveryRequestIsOpen();
    }
    if (!out_.hopeless_) out_.hopeless_ = TooManyTogether() || !Assignable();
    CountLeft();
    out_.earlier_twin_.assign(DeviceCount(), Outlook::kNoTwin);
    if (!out_.hopeless_) FindTwins();
    return std::move(out_);
  }

 private:
  std::size_t DeviceCount() const { return problem_.pools.devices.size(); }
  const Option& OptionAt(std::size_t number) const { return problem_.plan.options[number]; }
  bool Shareable(std::uint32_t device) const { return IsShareable(problem_.pools.devices[device], problem_.rules); }

  // False when the scheduler may meet an error. It gets no further than to a request that nothing can serve, so neither
  // does this.
  bool LookAtRequests() {
    for (const PlannedClaim& claim : problem_.plan.claims) {
      for (const PlannedRequest& request : claim.requests) {
        for (std::uint32_t i = 0; i < request.option_count; ++i) {
          if (!LookAtOption(request.first_option + i)) return false;
        }
        DropShortOptions();
        out_.hopeless_ = !HasOpenOption(request);
        if (out_.hopeless_) return true;
      }
    }
    return true;
  }

  bool LookAtOption(std::size_t number) {
    const Option& option = OptionAt(number);
    if (DependsOnPath(problem_, option)) return false;
    auto& allowed = out_.allowed_.emplace_back(DeviceCount());
    for (std::uint32_t device = 0; device < DeviceCount(); ++device) {
      if (option.all && !std::ranges::binary_search(option.everything, device)) continue;
      const Obstacle obstacle = FirstObstacle(problem_, number, device);
      if (obstacle == Obstacle::kFault) return false;
      allowed[device] = obstacle == Obstacle::kNone;
    }
    return true;
  }

  // How many of these devices the counters allow at the same time, at most. Devices are grouped by the first counter
  // they take; each takes at least the smallest amount of its group.
  std::uint64_t Together(const std::vector<unsigned char>& devices) const {
    struct Group {
      std::uint64_t count = 0;
      Quantity least, available;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, Group> groups;  // By pool and counter.
    std::uint64_t free = 0;
    for (std::uint32_t device = 0; device < DeviceCount(); ++device) {
      if (!devices[device]) continue;
      const Candidate& candidate = problem_.pools.devices[device];
      const auto takes = problem_.pools.TakesOf(candidate);
      const auto take = std::ranges::find_if(takes, [](const CounterTake& t) { return t.amount.Sign() > 0; });
      if (Shareable(device) || take == takes.end()) {
        ++free;
        continue;
      }
      Group& group = groups[{candidate.pool, take->counter}];
      if (group.count++ == 0 || take->amount < group.least) group.least = take->amount;
      group.available = problem_.pools.pools[candidate.pool].counters[take->counter].available;
    }
    for (const auto& [id, group] : groups) free += AtMost(group.count, group.least, group.available);
    return free;
  }

  static std::uint64_t AtMost(std::uint64_t count, const Quantity& each, const Quantity& available) {
    Quantity sum;
    for (std::uint64_t fitting = 0; fitting < count; ++fitting) {
      sum.Add(each);
      if (sum > available) return fitting;
    }
    return count;
  }

  // Options that cannot have their devices are closed. Returns whether one was.
  bool DropShortOptions() {
    bool changed = false;
    closed_.resize(out_.allowed_.size());
    for (std::size_t number = 0; number < out_.allowed_.size(); ++number) {
      const Option& option = OptionAt(number);
      const bool empty = option.all && option.everything.empty();
      if (closed_[number] || (!empty && Together(out_.allowed_[number]) >= option.count)) continue;
      closed_[number] = 1;
      std::ranges::fill(out_.allowed_[number], 0);
      changed = true;
    }
    return changed;
  }

  bool HasOpenOption(const PlannedRequest& request) const {
    for (std::uint32_t i = 0; i < request.option_count; ++i) {
      if (!Closed(request.first_option + i)) return true;
    }
    return false;
  }

  bool EveryRequestIsOpen() const {
    return std::ranges::all_of(problem_.plan.claims, [&](const PlannedClaim& claim) {
      return std::ranges::all_of(claim.requests, [&](const auto& request) { return HasOpenOption(request); });
    });
  }

  bool Closed(std::size_t number) const { return closed_[number] != 0; }

  // What a request needs at least, whichever of its options is taken.
  struct Demand {
    std::uint64_t count = UINT64_MAX;
    bool exclusive = true;  // Not admin access.
    std::vector<unsigned char> devices;
  };

  // Of all requests of a claim for which `counts` holds of every open option.
  template <class Predicate>
  std::vector<Demand> DemandsOf(const PlannedClaim& claim, const Predicate& counts) const {
    std::vector<Demand> demands;
    for (const PlannedRequest& request : claim.requests) {
      Demand demand{.devices = std::vector<unsigned char>(DeviceCount())};
      bool every = true;
      for (std::uint32_t i = 0; i < request.option_count; ++i) {
        const std::size_t number = request.first_option + i;
        if (Closed(number)) continue;
        every = every && counts(OptionAt(number));
        demand.count = std::min(demand.count, OptionAt(number).count);
        demand.exclusive = demand.exclusive && !OptionAt(number).admin;
        for (std::uint32_t d = 0; d < DeviceCount(); ++d) demand.devices[d] |= out_.allowed_[number][d];
      }
      if (every && demand.count > 0 && demand.count != UINT64_MAX) demands.push_back(std::move(demand));
    }
    return demands;
  }

  // Constraints: values of which there are too few. Returns whether a device was ruled out.
  bool DropShortValues() {
    bool changed = false;
    for (const PlannedClaim& claim : problem_.plan.claims) {
      for (std::uint32_t c = 0; c < claim.constraints.size(); ++c) {
        const auto covers = [&](const Option& option) {
          return std::ranges::find(option.constraints, c) != option.constraints.end();
        };
        const auto demands = DemandsOf(claim, covers);
        const AttributeValues values(claim.constraints[c], problem_.pools.devices);
        if (claim.constraints[c].matches()) {
          changed = DropForMatch(claim, covers, demands, values) || changed;
        } else {
          TooFewDistinct(demands, values);
        }
      }
    }
    return changed;
  }

  std::vector<std::uint64_t> CountByValue(const std::vector<unsigned char>& devices,
                                          const AttributeValues& values) const {
    std::vector<std::uint64_t> counts(values.count());
    for (std::uint32_t d = 0; d < DeviceCount(); ++d) {
      if (!devices[d]) continue;
      for (const std::uint32_t value : values.Of(d)) ++counts[value];
    }
    return counts;
  }

  // All devices of the constraint have one value, or have it in common, so each demand must be met by that value alone.
  template <class Covers>
  bool DropForMatch(const PlannedClaim& claim, const Covers& covers, const std::vector<Demand>& demands,
                    const AttributeValues& values) {
    std::vector<unsigned char> possible(values.count(), 1);
    for (const Demand& demand : demands) {
      const auto counts = CountByValue(demand.devices, values);
      for (std::uint32_t v = 0; v < values.count(); ++v) possible[v] = possible[v] && counts[v] >= demand.count;
    }
    RequireJointSupply(demands, values, possible);
    bool changed = false;
    for (const PlannedRequest& request : claim.requests) {
      for (std::uint32_t i = 0; i < request.option_count; ++i) {
        const std::size_t number = request.first_option + i;
        if (!covers(OptionAt(number))) continue;
        auto& allowed = out_.allowed_[number];
        const auto counts = CountByValue(allowed, values);
        for (std::uint32_t d = 0; d < DeviceCount(); ++d) {
          const auto will_do = [&](std::uint32_t v) { return possible[v] && counts[v] >= OptionAt(number).count; };
          if (!allowed[d] || std::ranges::any_of(values.Of(d), will_do)) continue;
          allowed[d] = 0;
          changed = true;
        }
      }
    }
    return changed;
  }

  // Requests that cannot share a device need one each.
  void RequireJointSupply(const std::vector<Demand>& demands, const AttributeValues& values,
                          std::vector<unsigned char>& possible) const {
    std::vector<unsigned char> all(DeviceCount());
    std::uint64_t wanted = 0;
    for (const Demand& demand : demands) {
      if (!demand.exclusive) continue;
      wanted += demand.count;
      for (std::uint32_t d = 0; d < DeviceCount(); ++d) all[d] |= demand.devices[d];
    }
    std::vector<unsigned char> unlimited(values.count());
    for (std::uint32_t d = 0; d < DeviceCount(); ++d) {
      if (!all[d] || !Shareable(d)) continue;
      for (const std::uint32_t value : values.Of(d)) unlimited[value] = 1;
    }
    const auto counts = CountByValue(all, values);
    for (std::uint32_t v = 0; v < values.count(); ++v)
      possible[v] = possible[v] && (unlimited[v] || counts[v] >= wanted);
  }

  // Every device of the constraint has a value that no other has, so there must be enough values.
  void TooFewDistinct(const std::vector<Demand>& demands, const AttributeValues& values) {
    if (problem_.rules.distinct_keeps_last_only) return;
    std::vector<unsigned char> seen(values.count());
    std::uint64_t wanted = 0;
    for (const Demand& demand : demands) {
      wanted += demand.count;
      for (std::uint32_t d = 0; d < DeviceCount(); ++d) {
        if (!demand.devices[d]) continue;
        for (const std::uint32_t value : values.Of(d)) seen[value] = 1;
      }
    }
    if (std::cmp_less(std::ranges::count(seen, 1), wanted)) out_.hopeless_ = true;
  }

  // All requests of all claims that need devices for themselves.
  std::vector<Demand> ExclusiveDemands() const {
    std::vector<Demand> all;
    for (const PlannedClaim& claim : problem_.plan.claims) {
      for (Demand& demand : DemandsOf(claim, [](const Option& option) { return !option.admin; })) {
        all.push_back(std::move(demand));
      }
    }
    return all;
  }

  bool TooManyTogether() const {
    std::vector<unsigned char> devices(DeviceCount());
    std::uint64_t wanted = 0;
    for (const Demand& demand : ExclusiveDemands()) {
      wanted += demand.count;
      for (std::uint32_t d = 0; d < DeviceCount(); ++d) {
        if (demand.devices[d] && Shareable(d)) return false;  // One device may serve any number of requests.
        devices[d] |= demand.devices[d];
      }
    }
    return Together(devices) < wanted;
  }

  static constexpr std::uint32_t kNobody = UINT32_MAX;

  // Whether each request can have devices of its own: a bipartite matching, grown device by device.
  bool Assignable() const {
    const std::vector<Demand> demands = ExclusiveDemands();
    std::vector<std::uint32_t> owner(DeviceCount(), kNobody);
    for (std::uint32_t r = 0; r < demands.size(); ++r) {
      for (std::uint64_t i = 0; i < demands[r].count; ++i) {
        std::vector<unsigned char> visited(demands.size());
        if (!Assign(demands, r, owner, visited)) return false;
      }
    }
    return true;
  }

  bool Assign(const std::vector<Demand>& demands, std::uint32_t request, std::vector<std::uint32_t>& owner,
              std::vector<unsigned char>& visited) const {
    visited[request] = 1;
    const auto& devices = demands[request].devices;
    for (std::uint32_t d = 0; d < DeviceCount(); ++d) {
      if (!devices[d]) continue;
      if (Shareable(d)) return true;
      if (owner[d] != kNobody) continue;
      owner[d] = request;
      return true;
    }
    for (std::uint32_t d = 0; d < DeviceCount(); ++d) {
      if (!devices[d] || visited[owner[d]] || !Assign(demands, owner[d], owner, visited)) continue;
      owner[d] = request;
      return true;
    }
    return false;
  }

  void CountLeft() {
    for (const auto& allowed : out_.allowed_) {
      auto& left = out_.left_.emplace_back(DeviceCount() + 1);
      for (std::size_t d = DeviceCount(); d > 0; --d) left[d - 1] = left[d] + (allowed[d - 1] ? 1 : 0);
    }
  }

  // Devices are twins when no option, constraint or counter can tell them apart.
  void FindTwins() {
    std::vector<AttributeValues> values;
    for (const PlannedClaim& claim : problem_.plan.claims) {
      for (const PlannedConstraint& constraint : claim.constraints) {
        values.emplace_back(constraint, problem_.pools.devices);
      }
    }
    std::map<std::string, std::uint32_t> last;
    for (std::uint32_t device = 0; device < DeviceCount(); ++device) {
      const Candidate& candidate = problem_.pools.devices[device];
      if (Shareable(device) || candidate.use != nullptr) continue;
      std::string key;
      for (std::size_t number = 0; number < out_.allowed_.size(); ++number) {
        const auto& everything = OptionAt(number).everything;
        key += out_.allowed_[number][device] ? '1' : '0';
        key += std::ranges::binary_search(everything, device) ? '1' : '0';
      }
      for (const AttributeValues& of_constraint : values) {
        key += '/';
        for (const std::uint32_t v : of_constraint.Of(device)) format_to(std::back_inserter(key), ",{}", v);
      }
      const auto takes = problem_.pools.TakesOf(candidate);
      if (!takes.empty()) format_to(std::back_inserter(key), ";{}", candidate.pool);
      for (const CounterTake& take : takes) {
        format_to(std::back_inserter(key), ",{}={}", take.counter, take.amount.ToString());
      }
      const auto [known, added] = last.emplace(std::move(key), device);
      if (added) continue;
      out_.earlier_twin_[device] = known->second;
      known->second = device;
    }
  }

  const Problem& problem_;
  Outlook out_;
  std::vector<unsigned char> closed_;  // By option.
};

std::optional<Outlook> Outlook::Of(const Problem& problem) { return OutlookBuilder(problem).Build(); }

}  // namespace tessera::alloc
