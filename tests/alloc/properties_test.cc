// What holds for every allocation, on problems that nobody has recorded an answer for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "base/text.h"
#include "tests/alloc/checker.h"
#include "tests/alloc/generator.h"
#include "tests/alloc/problem.h"

namespace tessera::tests {
namespace {

using ::testing::IsEmpty;

constexpr std::uint64_t kFirst = 500'000;
constexpr std::uint64_t kCount = 2'000;
constexpr std::uint64_t kMaxSteps = 100'000;  // What is harder is left to the comparison with Kubernetes.

class AllocatorProperties : public testing::TestWithParam<std::tuple<ProblemKind, cel::Release>> {};

TEST_P(AllocatorProperties, EveryAllocationKeepsEveryRule) {
  const auto& [kind, release] = GetParam();
  const alloc::Rules rules = alloc::RulesFor(release);
  std::size_t allocated = 0;
  for (std::uint64_t seed = kFirst; seed < kFirst + kCount; ++seed) {
    const auto problem = DecodeProblem(kind.generate(seed)).value();
    const auto outcome = Solve(problem, rules, {.max_steps = kMaxSteps});
    if (!outcome || !outcome->allocated) continue;
    ++allocated;
    ASSERT_THAT(Violations(problem, outcome->allocations, rules), IsEmpty())
        << "seed " << seed << ": " << AnswerOf(outcome) << "\n"
        << json::PrintJson(kind.generate(seed), 1);
  }
  EXPECT_GT(allocated, kCount / 4);
}

TEST_P(AllocatorProperties, PruningChangesNoAnswer) {
  const auto& [kind, release] = GetParam();
  const alloc::Rules rules = alloc::RulesFor(release);
  std::size_t fewer = 0;
  for (std::uint64_t seed = kFirst; seed < kFirst + kCount; ++seed) {
    const auto problem = DecodeProblem(kind.generate(seed)).value();
    const auto all = Solve(problem, rules, {.prune = false, .max_steps = kMaxSteps});
    if (!all && all.error().code() == "AllocationUndecided") continue;
    const auto pruned = Solve(problem, rules);
    ASSERT_EQ(AnswerOf(pruned), AnswerOf(all)) << "seed " << seed << "\n" << json::PrintJson(kind.generate(seed), 1);
    if (pruned && pruned->steps < all->steps) ++fewer;
  }
  EXPECT_GT(fewer, 50U) << "pruning must have had something to do";
}

INSTANTIATE_TEST_SUITE_P(Random, AllocatorProperties,
                         testing::Combine(testing::ValuesIn(kProblemKinds),
                                          testing::Values(cel::Release::k1_36, cel::Release::k1_37)),
                         [](const auto& given) {
                           const bool older = std::get<1>(given.param) == cel::Release::k1_36;
                           return Format("{}_{}", std::get<0>(given.param).name, older ? "v1_36" : "v1_37");
                         });

}  // namespace
}  // namespace tessera::tests
