#include "alloc/plan.h"

#include <algorithm>
#include <limits>

#include "alloc/capacity.h"
#include "base/text.h"

namespace tessera::alloc {
namespace {

std::unexpected<Error> Refuse(std::string message, std::string advice = {}) {
  return BadConfig("ClaimNotAllocatable", std::move(message), std::move(advice));
}

Result<void> CheckSize(std::span<const Claim> claims) {
  if (claims.size() > kMaxClaims) {
    return Refuse(Format("{} claims at once; at most {} are taken", claims.size(), kMaxClaims));
  }
  for (const Claim& claim : claims) {
    const auto& requests = claim.spec.requests;
    if (requests.size() > kMaxRequests) {
      return Refuse(
          Format("claim {} has {} requests; the API allows {}", api::ToText(claim.ref), requests.size(), kMaxRequests));
    }
    for (const api::ClaimRequest& request : requests) {
      if (request.first_available.size() <= kMaxAlternatives) continue;
      return Refuse(Format("claim {}, request {} has {} alternatives; the API allows {}", api::ToText(claim.ref),
                           request.name, request.first_available.size(), kMaxAlternatives));
    }
  }
  return {};
}

// Puts one claim after the other into a plan.
class Planner {
 public:
  Planner(const Classes& classes, cel::SelectorCache& selectors, const PoolSet& pools, const Node& node,
          const Rules& rules)
      : classes_(classes), selectors_(selectors), pools_(pools), node_(node), rules_(rules) {}

  Result<void> Add(const Claim& claim);
  Plan Take() { return std::move(plan_); }

 private:
  Result<void> AddRequest(const api::ClaimRequest& request);
  Result<void> CheckGates(const api::ClaimRequest& request) const;
  Result<void> AddOption(const api::ClaimRequest& main, const api::DeviceRequest& request);
  Result<void> CheckSelectors(const api::DeviceRequest& request, std::string_view name) const;
  Result<void> SetCount(Option& option);
  Result<void> CollectEverything(Option& option);
  Result<bool> HasCapacity(const Option& option, const Candidate& candidate) const;
  Result<void> Count(const api::ClaimRequest& request, std::uint64_t wanted);
  Result<void> AddConstraints();
  std::string ClaimName() const { return api::ToText(plan_.claims.back().claim->ref); }

  const Classes& classes_;
  cel::SelectorCache& selectors_;
  const PoolSet& pools_;
  const Node& node_;
  const Rules& rules_;
  Plan plan_;
  std::uint64_t wanted_ = 0;  // Devices, by the claim at hand, at least.
};

Result<void> Planner::Add(const Claim& claim) {
  plan_.claims.push_back({.claim = &claim, .first_constraint = plan_.constraint_count});
  wanted_ = 0;
  const std::size_t first = plan_.options.size();
  for (const api::ClaimRequest& request : claim.spec.requests) TESSERA_TRY(AddRequest(request));
  if (!rules_.counts_by_request && wanted_ > kMaxResults) {
    return Refuse(Format("claim {}: number of requested devices {} exceeds the claim limit of {}", ClaimName(), wanted_,
                         kMaxResults));
  }
  TESSERA_TRY(AddConstraints());
  PlannedClaim& planned = plan_.claims.back();
  plan_.constraint_count += static_cast<std::uint32_t>(planned.constraints.size());
  for (std::size_t i = first; i < plan_.options.size(); ++i) {
    Option& option = plan_.options[i];
    const std::string& main = claim.spec.requests[option.main].name;
    for (std::uint32_t c = 0; c < planned.constraints.size(); ++c) {
      if (planned.constraints[c].Covers(main, option.full_name)) option.constraints.push_back(c);
    }
  }
  return {};
}

Result<void> Planner::AddRequest(const api::ClaimRequest& request) {
  TESSERA_TRY(CheckGates(request));
  PlannedClaim& claim = plan_.claims.back();
  claim.requests.push_back({.first_option = static_cast<std::uint32_t>(plan_.options.size()),
                            .prioritized = !request.first_available.empty()});
  std::uint64_t wanted = std::numeric_limits<std::uint64_t>::max();
  if (request.first_available.empty()) {
    static const api::DeviceRequest kNone{.allocation_mode = ""};  // Some later release's kind of request.
    TESSERA_TRY(AddOption(request, request.exactly ? *request.exactly : kNone));
  }
  for (const api::DeviceRequest& sub : request.first_available) TESSERA_TRY(AddOption(request, sub));
  PlannedRequest& planned = plan_.claims.back().requests.back();
  planned.option_count = static_cast<std::uint32_t>(plan_.options.size()) - planned.first_option;
  for (std::size_t i = planned.first_option; i < plan_.options.size(); ++i) {
    wanted = std::min(wanted, plan_.options[i].count);
  }
  return Count(request, wanted);
}

Result<void> Planner::CheckGates(const api::ClaimRequest& request) const {
  if (!rules_.gates.prioritized_list && !request.first_available.empty()) {
    return Refuse(Format("claim {}, request {}: has subrequests, but the DRAPrioritizedList feature is disabled",
                         ClaimName(), request.name));
  }
  if (rules_.gates.consumable_capacity || rules_.older_copy) return {};
  if (request.exactly && request.exactly->capacity) {
    return Refuse(
        Format("claim {}, request {}: has capacity requests, but the DRAConsumableCapacity feature is disabled",
               ClaimName(), request.name));
  }
  for (const api::DeviceRequest& sub : request.first_available) {
    if (!sub.capacity) continue;
    return Refuse(
        Format("claim {}, subrequest {}: has capacity requests, but the DRAConsumableCapacity feature is disabled",
               ClaimName(), sub.name));
  }
  return {};
}

Result<void> Planner::CheckSelectors(const api::DeviceRequest& request, std::string_view name) const {
  for (std::size_t i = 0; i < request.selectors.size(); ++i) {
    if (request.selectors[i].cel) continue;
    return Refuse(Format("claim {}, request {}, selector #{}: CEL expression empty (unsupported selector type?)",
                         ClaimName(), name, i));
  }
  return {};
}

Result<void> Planner::AddOption(const api::ClaimRequest& main, const api::DeviceRequest& request) {
  const bool sub = !main.first_available.empty();
  const std::string& name = sub ? request.name : main.name;
  if (rules_.release >= cel::Release::k1_37 && request.has_derived_attributes) {
    return Refuse(Format("claim {}, request {}: cannot handle request with derived attributes, the feature is disabled",
                         ClaimName(), name));
  }
  TESSERA_TRY(CheckSelectors(request, name));
  if (!rules_.gates.admin_access && request.admin_access) {
    return Refuse(
        Format("claim {}, request {}: admin access is requested, but the feature is disabled", ClaimName(), name));
  }
  if (request.device_class.empty()) {
    return Refuse(
        Format("claim {}, request {}: missing device class name (unsupported request type?)", ClaimName(), name));
  }
  const auto device_class = classes_.find(request.device_class);
  if (device_class == classes_.end()) {
    return Refuse(
        Format("claim {}, request {}: could not retrieve device class {}: deviceclass.resource.k8s.io {} not found",
               ClaimName(), name, request.device_class, Quote(request.device_class)),
        "create the DeviceClass, or correct deviceClassName");
  }
  const api::ClaimRef& claim = plan_.claims.back().claim->ref;
  Option& option = plan_.options.emplace_back(DeviceFilter(device_class->second, request, claim, selectors_));
  option.request = &request;
  option.device_class = &device_class->second;
  option.name = name;
  option.full_name = sub ? Format("{}/{}", main.name, request.name) : main.name;
  option.claim = static_cast<std::uint32_t>(plan_.claims.size() - 1);
  option.main = static_cast<std::uint32_t>(plan_.claims.back().requests.size() - 1);
  option.admin = !sub && request.admin_access.value_or(false);
  return SetCount(option);
}

Result<void> Planner::SetCount(Option& option) {
  const api::DeviceRequest& request = *option.request;
  if (request.allocation_mode == "ExactCount") {
    option.count = request.count < 0 ? 0 : static_cast<std::uint64_t>(request.count);
    return {};
  }
  if (request.allocation_mode == "All") {
    option.all = true;
    return CollectEverything(option);
  }
  return Refuse(
      Format("claim {}, request {}: unsupported count mode {}", ClaimName(), option.name, request.allocation_mode));
}

Result<bool> Planner::HasCapacity(const Option& option, const Candidate& candidate) const {
  if (!rules_.gates.consumable_capacity) return true;
  const bool counts = candidate.use != nullptr && candidate.use->counts_capacity;
  const Amounts* taken = rules_.all_shrinks && counts ? &candidate.use->consumed : nullptr;
  const Fit fit = CheckCapacity(*option.request, *candidate.device, taken, nullptr, rules_);
  if (fit != Fit::kFault || !rules_.capacity_faults_are_fatal) return fit == Fit::kFits;
  return std::unexpected(Consumed(*option.request, *candidate.device, rules_)
                             .error()
                             .Wrap(Format("claim {}, request {}: checking capacity for device {}", ClaimName(),
                                          option.name, candidate.device->name)));
}

Result<void> Planner::CollectEverything(Option& option) {
  for (const Pool& pool : pools_.pools) {
    if (pool.state != PoolState::kUsable) {
      const bool incomplete = pool.state == PoolState::kIncomplete;
      return Refuse(Format("claim {}, request {}: asks for all devices, but resource pool {}/{} is currently {}",
                           ClaimName(), option.name, pool.driver, pool.name, incomplete ? "being updated" : "invalid"),
                    pool.reason);
    }
    for (std::uint32_t device = pool.first_device; device < pool.first_device + pool.device_count; ++device) {
      const Candidate& candidate = pools_.devices[device];
      const Match match = option.filter.Ask(candidate, node_, rules_);
      if (match == Match::kFault) return std::unexpected(option.filter.FaultOf(candidate, node_, rules_));
      if (match != Match::kYes) continue;
      TESSERA_ASSIGN(const bool fits, HasCapacity(option, candidate));
      if (fits) option.everything.push_back(device);
    }
  }
  option.count = option.everything.size();
  return {};
}

Result<void> Planner::Count(const api::ClaimRequest& request, std::uint64_t wanted) {
  if (rules_.counts_by_request && wanted > kMaxResults - wanted_) {
    return Refuse(
        Format("claim {}, request {}: adding {} devices exceeds the claim limit of {}, with {} already accounted for",
               ClaimName(), request.name, wanted, kMaxResults, wanted_));
  }
  wanted_ += std::min<std::uint64_t>(wanted, std::numeric_limits<std::uint32_t>::max());
  return {};
}

Result<void> Planner::AddConstraints() {
  PlannedClaim& planned = plan_.claims.back();
  const auto& constraints = planned.claim->spec.constraints;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const bool distinct = constraints[i].distinct_attribute && !rules_.older_copy;
    if (!constraints[i].match_attribute && !distinct) {
      return Refuse(
          Format("claim {}, constraint #{}: empty constraint (unsupported constraint type?)", ClaimName(), i));
    }
    planned.constraints.emplace_back(constraints[i], rules_);
  }
  return {};
}

}  // namespace

Result<Plan> MakePlan(std::span<const Claim> claims, const Classes& classes, cel::SelectorCache& selectors,
                      const PoolSet& pools, const Node& node, const Rules& rules) {
  TESSERA_TRY(CheckSize(claims));
  Planner planner(classes, selectors, pools, node, rules);
  for (const Claim& claim : claims) TESSERA_TRY(planner.Add(claim));
  return planner.Take();
}

}  // namespace tessera::alloc
