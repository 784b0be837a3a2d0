// cel/cost_estimate.h: what an expression may cost at worst, reckoned before there is a device.
//
// The API server refuses a new selector whose estimate is over the limit. The rules are those of cel-go's estimator
// with Kubernetes' overrides for device selectors: at most 32 domains and 32 ids in each, ids of 32 and domains of 63
// characters, values of 64.
#pragma once

#include <cstdint>

#include "cel/ast.h"
#include "cel/checker.h"
#include "cel/function.h"

namespace tessera::cel {

// UINT64_MAX: there is no bound.
std::uint64_t EstimateCost(const Ast& ast, const Checked& checked, const FunctionSet& functions);

}  // namespace tessera::cel
