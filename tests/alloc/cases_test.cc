// The families of cases that Kubernetes tests its allocator with, as problems of our own: tests/testdata/alloc/*.yaml.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "tests/alloc/case_file.h"
#include "tests/alloc/problem.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

class AllocatorCases : public testing::TestWithParam<std::string> {};

// "r=d/p/a r=d/p/b" of "r=d/p/a r=d/p/b #01234567".
std::string WithoutHash(const std::string& answer) { return answer.substr(0, answer.find(" #")); }

void Check(const AllocationCase& wanted, const AllocationProblem& problem, const alloc::Rules& rules, bool prune) {
  SCOPED_TRACE(prune ? "with pruning" : "without pruning");
  const auto outcome = Solve(problem, rules, {.prune = prune});
  if (!wanted.error.empty()) {
    ASSERT_FALSE(outcome.has_value()) << AnswerOf(outcome);
    EXPECT_EQ(outcome.error().message(), wanted.error);
    return;
  }
  ASSERT_TRUE(outcome.has_value()) << outcome.error().Text();
  EXPECT_EQ(WithoutHash(AnswerOf(outcome)), wanted.want);
  if (wanted.details) {
    EXPECT_EQ(DetailsOf(outcome), *wanted.details);
  }
  if (wanted.steps && !prune) {
    EXPECT_EQ(outcome->steps, *wanted.steps);
  }
}

TEST_P(AllocatorCases, EndAsInTheScheduler) {
  const auto cases = ReadCases(GetParam());
  ASSERT_TRUE(cases.has_value()) << cases.error().Text();
  ASSERT_FALSE(cases->empty());
  for (const AllocationCase& wanted : *cases) {
    const auto problem = DecodeProblem(wanted.problem);
    ASSERT_TRUE(problem.has_value()) << wanted.name << ": " << problem.error().Text();
    for (const std::string& release : wanted.releases) {
      SCOPED_TRACE(Format("{}, {}", wanted.name, release));
      const alloc::Rules rules = RulesOf(*problem, ReleaseOf(release));
      Check(wanted, *problem, rules, true);
      Check(wanted, *problem, rules, false);
    }
  }
}

std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/tests/testdata/alloc")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().filename());
  }
  std::ranges::sort(files);
  return files;
}

INSTANTIATE_TEST_SUITE_P(Files, AllocatorCases, testing::ValuesIn(Files()),
                         [](const auto& given) { return given.param.substr(0, given.param.find('.')); });

}  // namespace
}  // namespace tessera::tests
