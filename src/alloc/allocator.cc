#include "alloc/allocator.h"

#include <algorithm>

#include "base/uuid.h"

namespace tessera::alloc {
namespace {

bool AnyInvalid(const PoolSet& pools) {
  return std::ranges::any_of(pools.pools, [](const Pool& pool) { return pool.state == PoolState::kInvalid; });
}

}  // namespace

Allocator::Allocator(const Inventory& inventory, const AllocatedState& allocated, const Classes& classes,
                     cel::SelectorCache& selectors, const Rules& rules, NewShareId new_share_id)
    : inventory_(inventory),
      allocated_(allocated),
      classes_(classes),
      selectors_(selectors),
      rules_(rules),
      new_share_id_(new_share_id ? std::move(new_share_id) : RandomUuid) {}

Result<Outcome> Allocator::Allocate(const Node& node, std::span<const Claim> claims, const SearchLimits& limits) const {
  TESSERA_ASSIGN(const PoolSet pools, GatherPools(inventory_, node, allocated_, rules_));
  Matcher matcher(pools, node, rules_, selectors_);
  TESSERA_ASSIGN(Plan plan, MakePlan(claims, classes_, pools, rules_, matcher));
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
  TESSERA_ASSIGN(const PoolSet pools, GatherPools(inventory_, node, allocated_, rules_));
  Matcher matcher(pools, node, rules_, selectors_);
  TESSERA_ASSIGN(Plan plan, MakePlan(claims, classes_, pools, rules_, matcher));
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
