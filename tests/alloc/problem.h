// tests/alloc/problem.h: an allocation problem as data, and our answer to it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/allocator.h"
#include "json/value.h"

namespace tessera::tests {

struct AllocationProblem {
  alloc::Node node;
  std::vector<api::ResourceSlice> slices;
  alloc::Classes classes;
  std::vector<api::AllocationResult> allocated;  // What other claims hold.
  std::vector<alloc::Claim> claims;
  std::map<std::string, bool> gates;  // By Kubernetes' names; the others are as the release has them.
};

// {"node": …, "classes": [], "slices": [], "allocated": [], "claims": [], "gates": {}}: Kubernetes' objects, and
// results of allocations. The Go oracle reads the same.
Result<AllocationProblem> DecodeProblem(const json::Value& value);

// "1.36" and "1.37".
cel::Release ReleaseOf(std::string_view name);

// Compiled once for all problems of a test.
cel::SelectorCache& SelectorsOf(const alloc::Rules& rules);

// The release's rules, with the problem's gates.
alloc::Rules RulesOf(const AllocationProblem& problem, cel::Release release);

Result<alloc::Outcome> Solve(const AllocationProblem& problem, const alloc::Rules& rules,
                             const alloc::SearchLimits& limits = {});

// One line that holds everything the scheduler decides, and is the same as the oracle's:
//   r0=driver/pool/device r1=…; r0=…   one part a claim; * is admin access, % a share
//   … #xxxxxxxx                        a hash of DetailsOf()
//   -                                  not on this node
//   !                                  not on this node, where a pool is invalid
//   E #xxxxxxxx                        a hash of the text of an error that stops the scheduler
// The oracle adds " @steps" where there is no error.
std::string AnswerOf(const Result<alloc::Outcome>& outcome);

// What the hash stands for: capacities, tolerations, configs, node selectors; or the text of the error.
std::string DetailsOf(const Result<alloc::Outcome>& outcome);

}  // namespace tessera::tests
