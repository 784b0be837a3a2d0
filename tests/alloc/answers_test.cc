// What Kubernetes' own allocator answered to the problems of generator.h, recorded by oracle/ask, and what we answer.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "tests/alloc/generator.h"
#include "tests/alloc/problem.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

// Line n is the answer to seed n.
std::vector<std::string> Recorded(std::string_view release) {
  const auto text = ReadFile(Format("{}/tests/testdata/alloc/answers-{}.txt", TESSERA_SOURCE_DIR, release)).value();
  std::vector<std::string> answers;
  for (const std::string_view line : Split(Trim(text), '\n')) answers.emplace_back(line);
  return answers;
}

std::string Report(std::uint64_t seed, std::string_view theirs, const Result<alloc::Outcome>& ours) {
  return Format(
      "seed {}:\n{}\n  Kubernetes: {}\n  ours:       {}\n  which is:   {}\nWith Go, oracle/ask compare --first {} "
      "--count 1 makes it smaller.",
      seed, json::PrintJson(GenerateProblem(seed), 1), theirs, AnswerOf(ours), DetailsOf(ours), seed);
}

// The answer without " @steps", and the steps.
std::pair<std::string_view, std::string_view> Parts(std::string_view recorded) {
  return Cut(recorded, " @").value_or(std::pair(recorded, std::string_view()));
}

class RecordedAnswers : public testing::TestWithParam<std::string_view> {};

TEST_P(RecordedAnswers, AreOurs) {
  const alloc::Rules rules = alloc::RulesFor(ReleaseOf(GetParam()));
  const std::vector<std::string> recorded = Recorded(GetParam());
  ASSERT_GE(recorded.size(), 5000U);
  std::size_t compared = 0;
  std::size_t allocated = 0;
  for (std::uint64_t seed = 0; seed < recorded.size(); ++seed) {
    if (recorded[seed] == "T") continue;  // Kubernetes had no answer in time.
    const auto problem = DecodeProblem(GenerateProblem(seed));
    ASSERT_TRUE(problem.has_value()) << seed << ": " << problem.error().Text();
    const auto outcome = Solve(*problem, rules);
    ASSERT_EQ(AnswerOf(outcome), Parts(recorded[seed]).first) << Report(seed, recorded[seed], outcome);
    ++compared;
    if (outcome && outcome->allocated) ++allocated;
  }
  EXPECT_GE(compared, 5000U);
  EXPECT_GE(allocated, compared / 4) << "problems that nobody can solve prove little";
}

// The same number of steps means the same search, device by device.
TEST_P(RecordedAnswers, TakeAsManyStepsWithoutPruning) {
  const alloc::Rules rules = alloc::RulesFor(ReleaseOf(GetParam()));
  const std::vector<std::string> recorded = Recorded(GetParam());
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < recorded.size(); ++seed) {
    const auto steps = ParseNumber<std::uint64_t>(Parts(recorded[seed]).second);
    if (!steps || *steps > 100'000) continue;  // An error, or too much for a test.
    const auto outcome = Solve(DecodeProblem(GenerateProblem(seed)).value(), rules, {.prune = false});
    ASSERT_TRUE(outcome.has_value()) << Report(seed, recorded[seed], outcome);
    ASSERT_EQ(outcome->steps, *steps) << Report(seed, recorded[seed], outcome);
    ++compared;
  }
  EXPECT_GE(compared, 4000U);
}

INSTANTIATE_TEST_SUITE_P(Kubernetes, RecordedAnswers, testing::Values("1.36", "1.37"),
                         [](const auto& given) { return "v" + std::string(given.param).replace(1, 1, "_"); });

}  // namespace
}  // namespace tessera::tests
