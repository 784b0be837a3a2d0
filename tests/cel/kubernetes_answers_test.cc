// What Kubernetes' own code answered to tests/testdata/cel/selectors.txt and list_selectors.txt, recorded by
// tests/cel/oracle, and what we answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/fd.h"
#include "base/text.h"
#include "cel/device_selector.h"
#include "cel/test_device.h"
#include "json/decode.h"
#include "tests/support/paths.h"

namespace tessera::cel {

struct Answer {
  std::string expression;
  std::string new_error;
  std::uint64_t estimate = 0;
  std::string stored_error;
  bool match = false;
  std::string runtime_error;
  std::int64_t cost = 0;
  bool operator==(const Answer&) const = default;
};

template <class F>
void Describe(F& f, Answer& a) {
  f.Required("expression", a.expression);
  f.Optional("newError", a.new_error);
  f.Optional("estimate", a.estimate);
  f.Optional("storedError", a.stored_error);
  f.Optional("match", a.match);
  f.Optional("runtimeError", a.runtime_error);
  f.Optional("cost", a.cost);
}

namespace {

std::vector<Answer> Recorded(std::string_view file) {
  const auto text = ReadFile(Format("{}/tests/testdata/cel/{}.jsonl", TESSERA_SOURCE_DIR, file)).value();
  std::vector<Answer> answers;
  for (const std::string_view line : Split(Trim(text), '\n')) {
    answers.push_back(json::Decode<Answer>(json::ParseJson(line).value()).value());
  }
  return answers;
}

Answer Ours(const std::string& expression, const Environment& stored_environment, const DeviceFacts& device) {
  Answer answer{.expression = expression};
  Environment new_environment = stored_environment;
  new_environment.use = Use::kNewExpression;
  new_environment.cost_limit = UINT64_MAX;
  const auto admitted = Compile(expression, new_environment);
  if (admitted) {
    answer.estimate = admitted->CostEstimate();
  } else {
    answer.new_error = admitted.error().message();
  }
  const auto stored = Compile(expression, stored_environment);
  if (!stored) {
    answer.stored_error = stored.error().message();
    return answer;
  }
  const auto evaluation = stored->Evaluate(device);
  if (evaluation.match) {
    answer.match = *evaluation.match;
  } else {
    answer.runtime_error = evaluation.match.error().message();
  }
  answer.cost = static_cast<std::int64_t>(evaluation.cost);
  return answer;
}

struct Difference {
  std::string_view expression;
  std::string_view reason;
};

constexpr std::array kDifferences{
    Difference{"\"abc", "cel-go's parser goes on after an error; ours stops at the first"},
};

bool IsDifference(std::string_view expression) {
  return std::ranges::find(kDifferences, expression, &Difference::expression) != kDifferences.end();
}

void Compare(std::string_view file, const Environment& environment, const DeviceFacts& device) {
  SCOPED_TRACE(file);
  for (const Answer& wanted : Recorded(file)) {
    const Answer ours = Ours(wanted.expression, environment, device);
    SCOPED_TRACE(wanted.expression);
    if (IsDifference(wanted.expression)) {
      EXPECT_NE(ours, wanted) << "it agrees, and needs no exception";
      continue;
    }
    EXPECT_EQ(ours.new_error, wanted.new_error);
    EXPECT_EQ(ours.stored_error, wanted.stored_error);
    EXPECT_EQ(ours.match, wanted.match);
    EXPECT_EQ(ours.runtime_error, wanted.runtime_error);
    EXPECT_EQ(ours.cost, wanted.cost);
    EXPECT_EQ(ours.estimate, wanted.estimate);
  }
}

TEST(KubernetesAnswers, Of137AreOurs) { Compare("answers-1.37", {.release = Release::k1_37}, TestGpu()); }
TEST(KubernetesAnswers, Of136AreOurs) { Compare("answers-1.36", {.release = Release::k1_36}, TestGpu()); }
TEST(KubernetesAnswers, Of135AreOurs) { Compare("answers-1.35", {.release = Release::k1_35}, TestGpu()); }
TEST(KubernetesAnswers, Of134AreOurs) { Compare("answers-1.34", {.release = Release::k1_34}, TestGpu()); }

TEST(KubernetesAnswers, AboutListsAreOurs) {
  Compare("list-answers-1.37", {.release = Release::k1_37, .list_type_attributes_gate = true}, TestNicWithLists());
  Compare("list-answers-1.36", {.release = Release::k1_36, .list_type_attributes_gate = true}, TestNicWithLists());
}

TEST(KubernetesAnswers, AreThereForEveryExpression) {
  for (const auto& [list, answers, releases] :
       {std::tuple("selectors", "answers", std::vector{"1.34", "1.35", "1.36", "1.37"}),
        std::tuple("list_selectors", "list-answers", std::vector{"1.36", "1.37"})}) {
    const auto text = ReadFile(Format("{}/tests/testdata/cel/{}.txt", TESSERA_SOURCE_DIR, list)).value();
    const auto expressions = std::ranges::count_if(
        Split(text, '\n'), [](std::string_view line) { return !Trim(line).empty() && !line.starts_with('#'); });
    for (const std::string_view release : releases) {
      EXPECT_EQ(std::ssize(Recorded(Format("{}-{}", answers, release))), expressions) << list << " " << release;
    }
  }
}

}  // namespace
}  // namespace tessera::cel
