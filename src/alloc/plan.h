// alloc/plan.h: what is asked for, checked and made ready: claims, their requests, and the alternatives of each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/constraints.h"
#include "alloc/device_filter.h"
#include "alloc/node.h"
#include "alloc/pools.h"
#include "alloc/rules.h"
#include "api/claim_spec.h"
#include "api/prepared_claim.h"
#include "base/error.h"
#include "cel/selector_cache.h"

namespace tessera::alloc {

// The most devices that one claim can hold (AllocationResultsMaxSize).
inline constexpr std::size_t kMaxResults = 32;

// What the API server allows in a claim, and more claims than a pod has any use for: the search recurses over them.
inline constexpr std::size_t kMaxRequests = 32;
inline constexpr std::size_t kMaxAlternatives = 8;
inline constexpr std::size_t kMaxClaims = 64;

struct Claim {
  api::ClaimRef ref;
  api::ClaimSpec spec;
};

using Classes = std::map<std::string, api::DeviceClass, std::less<>>;

// One way to satisfy a request: `exactly`, or one of `firstAvailable`.
struct Option {
  DeviceFilter filter;
  const api::DeviceRequest* request = nullptr;
  const api::DeviceClass* device_class = nullptr;
  std::string_view name;    // "main", or "sub" alone …
  std::string full_name;    // … which is "main/sub" in full.
  std::uint32_t claim = 0;  // Its place in Plan::claims …
  std::uint32_t main = 0;   // … and in the claim's requests.
  bool all = false;         // Mode All.
  bool admin = false;
  std::uint64_t count = 0;                 // Devices wanted; in mode All as many as there are.
  std::vector<std::uint32_t> everything;   // In mode All: the devices, in PoolSet::devices.
  std::vector<std::uint32_t> constraints;  // Those of the claim that cover it, in the claim's order.
};

struct PlannedRequest {
  std::uint32_t first_option = 0, option_count = 0;  // In Plan::options.
  bool prioritized = false;                          // firstAvailable.
};

struct PlannedClaim {
  const Claim* claim = nullptr;
  std::vector<PlannedRequest> requests;
  std::vector<PlannedConstraint> constraints;
  std::uint32_t first_constraint = 0;  // Their place among those of all claims.
};

// Views into claims and classes, which must outlive it. Nothing in it changes while devices are looked for.
struct Plan {
  std::vector<PlannedClaim> claims;
  std::vector<Option> options;
  std::uint32_t constraint_count = 0;  // Of all claims.
};

// Refuses, in the scheduler's words and order, what it refuses before it looks for devices. Only mode All looks at pools
// and node, and then at every device: any other plan is the same for all nodes.
Result<Plan> MakePlan(std::span<const Claim> claims, const Classes& classes, cel::SelectorCache& selectors,
                      const PoolSet& pools, const Node& node, const Rules& rules);

}  // namespace tessera::alloc
