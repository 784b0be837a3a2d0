// What holds for every allocation, on problems that nobody has recorded an answer for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/alloc/checker.h"
#include "tests/alloc/generator.h"
#include "tests/alloc/problem.h"

namespace tessera::tests {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t kFirst = 500'000;
constexpr std::uint64_t kCount = 3'000;

TEST(AllocatorProperties, EveryAllocationKeepsEveryRule) {
  std::size_t allocated = 0;
  for (std::uint64_t seed = kFirst; seed < kFirst + kCount; ++seed) {
    const auto problem = DecodeProblem(GenerateProblem(seed)).value();
    const auto outcome = Solve(problem, alloc::RulesFor(cel::Release::k1_37));
    if (!outcome || !outcome->allocated) continue;
    ++allocated;
    ASSERT_THAT(Violations(problem, outcome->allocations), IsEmpty())
        << "seed " << seed << ": " << AnswerOf(outcome) << "\n"
        << json::PrintJson(GenerateProblem(seed), 1);
  }
  EXPECT_GT(allocated, kCount / 4);
}

TEST(AllocatorProperties, TheCheckerSeesWhatIsWrong) {
  std::size_t seen = 0;
  for (std::uint64_t seed = kFirst; seed < kFirst + 300; ++seed) {
    const auto problem = DecodeProblem(GenerateProblem(seed)).value();
    const auto outcome = Solve(problem, alloc::RulesFor(cel::Release::k1_37));
    if (!outcome || !outcome->allocated || outcome->allocations.front().results.empty()) continue;
    auto broken = outcome->allocations;
    broken.front().results.front().device = "no-such-device";
    EXPECT_THAT(Violations(problem, broken), Not(IsEmpty())) << seed;
    broken = outcome->allocations;
    broken.front().results.pop_back();
    EXPECT_THAT(Violations(problem, broken), Not(IsEmpty())) << seed;
    ++seen;
  }
  EXPECT_GT(seen, 30U);
}

TEST(AllocatorProperties, PruningChangesNoAnswer) {
  std::size_t fewer = 0;
  for (const cel::Release release : {cel::Release::k1_36, cel::Release::k1_37}) {
    const alloc::Rules rules = alloc::RulesFor(release);
    for (std::uint64_t seed = kFirst; seed < kFirst + kCount; ++seed) {
      const auto problem = DecodeProblem(GenerateProblem(seed)).value();
      const auto all = Solve(problem, rules, {.prune = false, .max_steps = 100'000});
      if (!all && all.error().code() == "AllocationUndecided") continue;
      const auto pruned = Solve(problem, rules);
      ASSERT_EQ(AnswerOf(pruned), AnswerOf(all)) << "seed " << seed << "\n"
                                                 << json::PrintJson(GenerateProblem(seed), 1);
      if (pruned && pruned->steps < all->steps) ++fewer;
    }
  }
  EXPECT_GT(fewer, 100U) << "pruning must have had something to do";
}

}  // namespace
}  // namespace tessera::tests
