// tests/alloc/checker.h: judges an allocation by what the API promises, without a look at how it was found.
#pragma once

#include <string>
#include <vector>

#include "tests/alloc/problem.h"

namespace tessera::tests {

// Everything that is wrong with it; nothing when it keeps every rule of 1.37.
std::vector<std::string> Violations(const AllocationProblem& problem, const std::vector<api::Allocation>& allocations);

}  // namespace tessera::tests
