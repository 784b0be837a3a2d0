#include "alloc/allocator.h"

#include <algorithm>

#include "base/uuid.h"

namespace tessera::alloc {
namespace {

bool AnyInvalid(const PoolSet& pools) {
  return std::ranges::any_of(pools.pools, [](const Pool& pool) { return pool.state == PoolState::kInvalid; });
}

bool Any(std::span<const Claim> claims, const auto& holds) {
  return std::ranges::any_of(claims, [&](const Claim& claim) {
    return std::ranges::any_of(claim.spec.requests, [&](const api::ClaimRequest& request) {
      return (request.exactly && holds(*request.exactly)) || std::ranges::any_of(request.first_available, holds);
    });
  });
}

bool WantsAll(const api::DeviceRequest& request) { return request.allocation_mode == "All"; }
bool WantsAdmin(const api::DeviceRequest& request) { return request.admin_access.value_or(false); }

}  // namespace

Allocator::Allocator(const Inventory& inventory, const AllocatedState& allocated, const Classes& classes,
                     cel::SelectorCache& selectors, const Rules& rules, NewShareId new_share_id)
    : classes_(classes),
      selectors_(selectors),
      rules_(rules),
      pools_(inventory, allocated, rules),
      new_share_id_(new_share_id ? std::move(new_share_id) : RandomUuid) {}

Result<Plan> Allocator::PlanFor(std::span<const Claim> claims, const PoolSet& pools, const Node& node) const {
  return MakePlan(claims, classes_, selectors_, pools, node, rules_);
}

Question Allocator::Prepare(std::span<const Claim> claims) const {
  Question question(claims);
  const bool all = Any(claims, WantsAll);
  // Any other request passes over a device that another claim has before it asks anything else about it, so it does not
  // miss the device.
  if (all || Any(claims, WantsAdmin)) question.held_ = HeldDevices::kIncluded;
  if (!all) question.plan_ = PlanFor(claims, PoolSet(), Node());
  return question;
}

Result<Outcome> Allocator::Allocate(const Node& node, std::span<const Claim> claims, const SearchLimits& limits) const {
  return Allocate(node, Prepare(claims), limits);
}

Result<Outcome> Allocator::Allocate(const Node& node, const Question& question, const SearchLimits& limits) const {
  TESSERA_ASSIGN(const PoolSet pools, pools_.Of(node, question.held_));
  if (!question.plan_) {
    TESSERA_ASSIGN(const Plan plan, PlanFor(question.claims_, pools, node));
    return Solve(pools, node, plan, limits);
  }
  if (!*question.plan_) return std::unexpected(question.plan_->error());
  return Solve(pools, node, **question.plan_, limits);
}

Result<Outcome> Allocator::Solve(const PoolSet& pools, const Node& node, const Plan& plan,
                                 const SearchLimits& limits) const {
  Matcher matcher(pools, node, rules_, plan);
  const Problem problem{.pools = pools, .rules = rules_, .matcher = matcher, .plan = plan};
  Search search(problem, limits);
  TESSERA_ASSIGN(const bool found, search.Run());
  Outcome outcome{.allocated = found, .steps = search.steps()};
  if (found) {
    TESSERA_ASSIGN(outcome.allocations, MakeResults(problem, search, node, new_share_id_));
  } else {
    outcome.reason = AnyInvalid(pools) ? "invalid resource pools were encountered" : "cannot allocate all claims";
  }
  return outcome;
}

Result<Explanation> Allocator::Explain(const Node& node, std::span<const Claim> claims) const {
  TESSERA_ASSIGN(const PoolSet pools, pools_.Of(node, HeldDevices::kIncluded));
  TESSERA_ASSIGN(const Plan plan, PlanFor(claims, pools, node));
  Matcher matcher(pools, node, rules_, plan);
  const Problem problem{.pools = pools, .rules = rules_, .matcher = matcher, .plan = plan};
  Explanation explanation;
  for (const Pool& pool : pools.pools) {
    explanation.pools.push_back({.driver = std::string(pool.driver),
                                 .pool = std::string(pool.name),
                                 .state = pool.state,
                                 .reason = pool.reason,
                                 .counters = pool.counters});
  }
  for (std::size_t number = 0; number < plan.options.size(); ++number) {
    const Option& option = plan.options[number];
    RequestVerdict& request = explanation.requests.emplace_back(plan.claims[option.claim].claim->ref, option.full_name);
    request.asked = option.request;
    request.device_class = option.device_class;
    for (std::uint32_t device = 0; device < pools.devices.size(); ++device) {
      const Obstacle obstacle = FirstObstacle(problem, number, device);
      const Candidate& candidate = pools.devices[device];
      request.devices.push_back({.driver = candidate.slice->driver,
                                 .pool = candidate.slice->pool_name,
                                 .device = candidate.device->name,
                                 .obstacle = obstacle,
                                 .detail = Describe(problem, number, device, obstacle),
                                 .published = candidate.device,
                                 .facts = candidate.facts});
    }
  }
  return explanation;
}

}  // namespace tessera::alloc
