#include "cel/evaluator.h"

#include <gtest/gtest.h>

#include "cel/environment.h"
#include "cel/generator.h"
#include "cel/parser.h"

namespace tessera::cel {
namespace {

struct Answer {
  std::string text;
  std::uint64_t cost = 0;
  std::uint32_t offset = 0;
  bool limit_reached = false;
};

Answer Ask(std::string_view expression, std::uint64_t cost_limit = kNoCostLimit) {
  const auto ast = Parse(expression);
  if (!ast) return {.text = ast.error()[0].message};
  const Program program = Generate(*ast, nullptr, {}, FunctionsFor({}));
  Arena arena;
  const Outcome outcome = Evaluate(program, {}, arena, cost_limit);
  const std::string text =
      outcome.value.IsError() ? "error: " + std::string(outcome.value.AsText()) : ForMessage(outcome.value);
  return {text, outcome.cost, outcome.offset, outcome.limit_reached};
}

TEST(Evaluator, AnErrorIsAbsorbedByWhatDecides) {
  struct Case {
    std::string_view expression, answer;
  };
  constexpr Case kCases[]{
      {"1 / 0 == 1 || true", "true"},
      {"true || 1 / 0 == 1", "true"},
      {"1 / 0 == 1 && false", "false"},
      {"1 / 0 == 1 || false", "error: division by zero"},
      {"1 / 0 == 1 || 1 % 0 == 1", "error: division by zero"},
      {"dyn(1) || true", "true"},
      {"dyn(1) || false", "error: no such overload"},
      {"dyn(1) ? 1 : 2", "error: no such overload"},
      {"[0, 1].exists(x, 1 / x == 1)", "true"},
      {"[0, 1].all(x, 1 / x == 2)", "false"},
      {"[0, 1].exists_one(x, 1 / x == 1)", "error: division by zero"},
      {"[0].map(x, 1 / x)", "error: division by zero"},
      {"cel.bind(x, 1 / 0, true)", "true"},  // Nobody asked for x.
      {"cel.bind(x, 1 / 0, x == 1 || true)", "true"},
      {"optional.none().orValue(1)", "1"},
      {"optional.of(1).orValue(1 / 0)", "1"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.expression);
    EXPECT_EQ(Ask(c.expression).text, c.answer);
  }
}

TEST(Evaluator, SaysWhereAnErrorCameFrom) {
  EXPECT_EQ(Ask("true && 1 / 0 == 1").offset, 10U);
  EXPECT_EQ(Ask("(1 % 0 == 1 || true) && 1 / 0 == 1").offset, 26U);  // Not the one that was absorbed.
  EXPECT_EQ(Ask("[1, 2][5] == 1").offset, 6U);
}

TEST(Evaluator, StopsAtTheCostLimitWhateverWouldAbsorbIt) {
  constexpr std::string_view kStopped = "error: operation cancelled: actual cost limit exceeded";
  const std::string_view loop = "lists.range(1000).map(x, x + 1).size() > 0";
  EXPECT_EQ(Ask(loop, 1'000'000).text, "true");
  EXPECT_EQ(Ask(loop, 1'000).text, kStopped);
  EXPECT_TRUE(Ask(loop, 1'000).limit_reached);
  EXPECT_EQ(Ask("lists.range(1000).all(x, x >= 0) || true", 1'000).text, kStopped);
  EXPECT_EQ(Ask("lists.range(9).exists(y, lists.range(1000).all(x, x >= 0)) && false", 1'000).text, kStopped);
  EXPECT_LE(Ask(loop, 1'000).cost, 1'000U);
}

TEST(Evaluator, StopsWhenMemoryRunsOut) {
  constexpr std::string_view kStopped = "error: operation cancelled: the expression needs too much memory or time";
  EXPECT_EQ(Ask("lists.range(9223372036854775807).size()").text, kStopped);
  // Adding lists costs 1, however long they are.
  std::string doubling = "[1, 2, 3, 4]";
  for (int i = 0; i < 60; ++i) doubling = "cel.bind(x, " + doubling + ", x + x)";
  EXPECT_EQ(Ask(doubling + ".size() > 0").text, kStopped);
  EXPECT_TRUE(Ask(doubling + ".size() > 0").limit_reached);
}

// Each of these is cheap by Kubernetes' reckoning, or its cost is known only afterwards.
TEST(Evaluator, HostileExpressionsEnd) {
  const std::string text(1000, 'x');
  const std::string grow = "'" + text + "'.replace('', '" + text + "')";
  const std::string_view nest =
      "cel.bind(a, lists.range(1000), cel.bind(b, a.map(x, a), cel.bind(c, a.map(x, b), cel.bind(d, a.map(x, c), ";
  const std::string nested(nest);
  const std::string expressions[]{
      grow + ".replace('', '" + text + "').size() > 0",
      nested + "d == a.map(x, a.map(y, b))))))",
      nested + "'%s'.format([d]).size() > 0))))",
      nested + "d.flatten(9).size() > 0))))",
      nested + "d.indexOf(1) > 0))))",
      "lists.range(100000).distinct().size() > 0",
      "lists.range(100000).map(i, '" + text +
          "').join().size() > 0 && lists.range(1000000).map(i, i).sort().size() > 0",
      "cel.bind(l, lists.range(2000), sets.equivalent(l, l.reverse()))",
  };
  for (const std::string& expression : expressions) {
    SCOPED_TRACE(expression.substr(0, 200));
    const Answer answer = Ask(expression, 1'000'000);
    EXPECT_TRUE(answer.limit_reached) << answer.text.substr(0, 200);
  }
}

TEST(Evaluator, VariablesOfMacrosDoNotGetInEachOthersWay) {
  struct Case {
    std::string_view expression, answer;
  };
  constexpr Case kCases[]{
      {"cel.bind(x, [1, 2].map(y, y + 1), [5].map(z, x[0] + z)[0])", "7"},
      {"[1, 2].map(x, [10, 20].map(y, x + y)[1])[1]", "22"},
      {"[1].map(x, [2].map(x, x)[0] + x)[0]", "3"},
      {"cel.bind(a, cel.bind(b, 2, b * b), cel.bind(b, 10, a + b))", "14"},
      {"optional.of([1, 2].map(y, y * 2)).optMap(l, [1].map(z, l[z])[0]).value()", "4"},
      {"{'a': 1}.transformList(k, v, [v].map(w, w + v)[0])[0]", "2"},
      {"cel.bind(a, 1, cel.bind(b, 2, cel.bind(c, 3, cel.bind(d, 4, cel.bind(e, 5, cel.bind(f, 6, cel.bind(g, 7, "
       "cel.bind(h, 8, cel.bind(i, 9, a + b + c + d + e + f + g + h + i)))))))))",
       "45"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.expression);
    EXPECT_EQ(Ask(c.expression).text, c.answer);
  }
}

TEST(Evaluator, LargeMapsFindTheirKeys) {
  EXPECT_EQ(Ask("lists.range(2000).transformMap(i, v, v * 2)[1999]").text, "3998");
  EXPECT_EQ(Ask("lists.range(2000).transformMap(i, v, v * 2)[dyn(7.0)]").text, "14");
  EXPECT_EQ(Ask("2000 in lists.range(2000).transformMap(i, v, v)").text, "false");
  EXPECT_EQ(Ask("lists.range(100).map(i, string(i)).transformMapEntry(i, s, {s: i})['42']").text, "42");
}

TEST(Evaluator, ConstantsAreComputedOnceAndChargedEachTime) {
  const auto ast = Parse("quantity('40Gi').isGreaterThan(quantity('1'))");
  const Program program = Generate(*ast, nullptr, {}, FunctionsFor({}));
  EXPECT_EQ(program.steps[program.root].code, Code::kConstant);
  EXPECT_EQ(program.steps[program.root].cost, 3U);
}

}  // namespace
}  // namespace tessera::cel
