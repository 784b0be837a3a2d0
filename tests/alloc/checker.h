// tests/alloc/checker.h: judges an allocation by what the API promises, without a look at how it was found.
#pragma once

#include <string>
#include <vector>

#include "tests/alloc/problem.h"

namespace tessera::tests {

// Everything that is wrong with it; nothing when it keeps every rule. What a release does not keep is left out for it:
// 1.36 lets distinctAttribute be broken, and mode All pass over devices that others share.
std::vector<std::string> Violations(const AllocationProblem& problem, const std::vector<api::Allocation>& allocations,
                                    const alloc::Rules& rules);

}  // namespace tessera::tests
