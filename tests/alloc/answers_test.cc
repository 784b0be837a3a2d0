// What Kubernetes' own allocator answered to the problems of generator.h, recorded by oracle/ask, and what we answer.
#include <gtest/gtest.h>

#include <tuple>

#include "base/fd.h"
#include "base/text.h"
#include "tests/alloc/generator.h"
#include "tests/alloc/problem.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

constexpr std::size_t kFewest = 2000;  // Of each kind and release.

// Line n is the answer to seed n.
std::vector<std::string> Recorded(const ProblemKind& kind, std::string_view release) {
  const auto text =
      ReadFile(Format("{}/tests/testdata/alloc/{}-answers-{}.txt", TESSERA_SOURCE_DIR, kind.name, release)).value();
  std::vector<std::string> answers;
  for (const std::string_view line : Split(Trim(text), '\n')) answers.emplace_back(line);
  return answers;
}

std::string Report(const ProblemKind& kind, std::uint64_t seed, std::string_view theirs,
                   const Result<alloc::Outcome>& ours) {
  return Format(
      "seed {}:\n{}\n  Kubernetes: {}\n  ours:       {}\n  which is:   {}\nWith Go, oracle/ask compare --kind {} "
      "--first {} "
      "--count 1 makes it smaller.",
      seed, json::PrintJson(kind.generate(seed), 1), theirs, AnswerOf(ours), DetailsOf(ours), kind.name, seed);
}

// The answer without " @steps", and the steps.
std::pair<std::string_view, std::string_view> Parts(std::string_view recorded) {
  return Cut(recorded, " @").value_or(std::pair(recorded, std::string_view()));
}

class RecordedAnswers : public testing::TestWithParam<std::tuple<ProblemKind, std::string_view>> {};

TEST_P(RecordedAnswers, AreOurs) {
  const auto& [kind, release] = GetParam();
  const alloc::Rules rules = alloc::RulesFor(ReleaseOf(release));
  const std::vector<std::string> recorded = Recorded(kind, release);
  ASSERT_GE(recorded.size(), kFewest);
  std::size_t compared = 0;
  std::size_t allocated = 0;
  for (std::uint64_t seed = 0; seed < recorded.size(); ++seed) {
    if (recorded[seed] == "T") continue;  // Kubernetes had no answer in time.
    const auto problem = DecodeProblem(kind.generate(seed));
    ASSERT_TRUE(problem.has_value()) << seed << ": " << problem.error().Text();
    const auto outcome = Solve(*problem, rules);
    ASSERT_EQ(AnswerOf(outcome), Parts(recorded[seed]).first) << Report(kind, seed, recorded[seed], outcome);
    ++compared;
    if (outcome && outcome->allocated) ++allocated;
  }
  EXPECT_GE(compared, recorded.size() * 99 / 100);
  EXPECT_GE(allocated, compared / 4) << "problems that nobody can solve prove little";
}

// The same number of steps means the same search, device by device.
TEST_P(RecordedAnswers, TakeAsManyStepsWithoutPruning) {
  const auto& [kind, release] = GetParam();
  const alloc::Rules rules = alloc::RulesFor(ReleaseOf(release));
  const std::vector<std::string> recorded = Recorded(kind, release);
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < recorded.size(); ++seed) {
    const auto steps = ParseNumber<std::uint64_t>(Parts(recorded[seed]).second);
    if (!steps || *steps > 100'000) continue;  // An error, or too much for a test.
    const auto outcome = Solve(DecodeProblem(kind.generate(seed)).value(), rules, {.prune = false});
    ASSERT_TRUE(outcome.has_value()) << Report(kind, seed, recorded[seed], outcome);
    ASSERT_EQ(outcome->steps, *steps) << Report(kind, seed, recorded[seed], outcome);
    ++compared;
  }
  EXPECT_GE(compared, recorded.size() / 2);
}

std::string NameOf(const testing::TestParamInfo<RecordedAnswers::ParamType>& given) {
  const auto& [kind, release] = given.param;
  return Format("{}_v{}", kind.name, std::string(release).replace(1, 1, "_"));
}

INSTANTIATE_TEST_SUITE_P(Kubernetes, RecordedAnswers,
                         testing::Combine(testing::ValuesIn(kProblemKinds), testing::Values("1.36", "1.37")), NameOf);

}  // namespace
}  // namespace tessera::tests
