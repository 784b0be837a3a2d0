// What Kubernetes' own code answered to tests/testdata/cel/selectors.txt, recorded by tests/cel/oracle, and what we
// answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

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

std::vector<Answer> Recorded(std::string_view release) {
  const auto text = ReadFile(Format("{}/tests/testdata/cel/answers-{}.jsonl", TESSERA_SOURCE_DIR, release)).value();
  std::vector<Answer> answers;
  for (const std::string_view line : Split(Trim(text), '\n')) {
    answers.push_back(json::Decode<Answer>(json::ParseJson(line).value()).value());
  }
  return answers;
}

Answer Ours(const std::string& expression, Release release) {
  Answer answer{.expression = expression};
  const auto admitted = Compile(expression, {.release = release, .use = Use::kNewExpression, .cost_limit = UINT64_MAX});
  if (admitted) {
    answer.estimate = admitted->CostEstimate();
  } else {
    answer.new_error = admitted.error().message();
  }
  const auto stored = Compile(expression, {.release = release});
  if (!stored) {
    answer.stored_error = stored.error().message();
    return answer;
  }
  const auto evaluation = stored->Evaluate(TestGpu());
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

void Compare(std::string_view name, Release release) {
  SCOPED_TRACE(name);
  int compared = 0;
  for (const Answer& wanted : Recorded(name)) {
    const Answer ours = Ours(wanted.expression, release);
    SCOPED_TRACE(wanted.expression);
    if (IsDifference(wanted.expression)) {
      EXPECT_NE(ours, wanted) << "it agrees, and needs no exception";
      continue;
    }
    ++compared;
    EXPECT_EQ(ours.new_error, wanted.new_error);
    EXPECT_EQ(ours.stored_error, wanted.stored_error);
    EXPECT_EQ(ours.match, wanted.match);
    EXPECT_EQ(ours.runtime_error, wanted.runtime_error);
    EXPECT_EQ(ours.cost, wanted.cost);
    EXPECT_EQ(ours.estimate, wanted.estimate);
  }
  EXPECT_GT(compared, 390);
}

TEST(KubernetesAnswers, Of137AreOurs) { Compare("1.37", Release::k1_37); }
TEST(KubernetesAnswers, Of136AreOurs) { Compare("1.36", Release::k1_36); }
TEST(KubernetesAnswers, Of135AreOurs) { Compare("1.35", Release::k1_35); }
TEST(KubernetesAnswers, Of134AreOurs) { Compare("1.34", Release::k1_34); }

}  // namespace
}  // namespace tessera::cel
