#include "cel/checker.h"

#include <gtest/gtest.h>

#include <array>

#include "cel/environment.h"
#include "cel/parser.h"

namespace tessera::cel {
namespace {

// The type of the expression, or everything that is wrong with it, without the lines that show where.
std::string TypeOf(std::string_view expression, const CheckerOptions& options = {}) {
  const auto ast = Parse(expression);
  if (!ast) return ast.error()[0].message;
  const std::array variables{Variable{"device", SimpleType(Kind::kDevice)}};
  const auto checked = Check(*ast, variables, FunctionsFor({}), options);
  if (checked) return ToString(checked->result);
  std::string text;
  for (const Problem& problem : checked.error()) {
    text += (text.empty() ? "" : "; ") + problem.message + (problem.hint.empty() ? "" : " - " + problem.hint);
  }
  return text;
}

TEST(Checker, KnowsTheTypeOrSaysWhatIsWrong) {
  struct Case {
    std::string_view expression, type;
  };
  constexpr Case kCases[]{
      {"1 + 2", "int"},
      {"[1, 2].map(x, string(x))", "list(string)"},
      {"{'a': 1}.a", "int"},
      {"{'a': 1}.?a", "optional_type(int)"},
      {"[]", "list(dyn)"},
      {"[1, dyn('a')]", "expected type 'int' but found 'dyn'"},
      {"[dyn(1), dyn('a')]", "list(dyn)"},
      {"type(1)", "type(int)"},
      {"optional.of(1).orValue(2)", "int"},
      {"{'a': 1}.transformMap(k, v, v > 0)", "map(string, bool)"},
      {"cel.bind(x, 1u, [x])", "list(uint)"},
      {"device.driver", "string"},
      {"device.attributes", "map(string, map(string, dyn))"},
      {"device.capacity['a'].b", "kubernetes.Quantity"},
      {"device.attributes['a'].b + 1", "int"},
      {"device.attributes['a'].b == 1 && device.driver", "expected type 'bool' but found 'string'"},
      {"1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"},
      {"'a'.size(1)", "found no matching overload for 'size' applied to 'string.(int)'"},
      {"1.x", "type 'int' does not support field selection"},
      {"x + y", "undeclared reference to 'x' (in container ''); undeclared reference to 'y' (in container '')"},
      {"[1].exists(x, x == 'a')", "found no matching overload for '_==_' applied to '(int, string)'"},
      {"Foo{a: 1}", "undeclared reference to 'Foo' (in container '')"},
      {"'a'.matches('[')", "invalid matches argument"},
      {"duration('x')", "invalid duration argument"},
      {"timestamp('9999-12-31T23:59:59-01:00')", "invalid timestamp argument"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.expression);
    EXPECT_EQ(TypeOf(c.expression), c.type);
  }
}

TEST(Checker, SuggestsNearNames) {
  EXPECT_EQ(TypeOf("device.atributes"), "undefined field 'atributes' - did you mean attributes?");
  EXPECT_EQ(TypeOf("devise.driver"), "undeclared reference to 'devise' (in container '') - did you mean device?");
  EXPECT_EQ(TypeOf("quantaty('1')"), "undeclared reference to 'quantaty' (in container '') - did you mean quantity?");
  EXPECT_EQ(TypeOf("'a'.startWith('a')"),
            "undeclared reference to 'startWith' (in container '') - did you mean startsWith?");
  EXPECT_EQ(TypeOf("[1].all(index, indx > 1)"),
            "undeclared reference to 'indx' (in container '') - did you mean index?");
}

TEST(Checker, ManyUnknownTypesAreResolved) {
  std::string chain = "[]";
  for (int i = 0; i < 900; ++i) chain += "+[]";
  EXPECT_EQ(TypeOf(chain + " == [1]"), "bool");
  std::string many = "[] == []";
  for (int i = 0; i < 1000; ++i) many += " && [] == []";
  EXPECT_EQ(TypeOf(many), "bool");
}

TEST(Checker, FollowsItsOptions) {
  EXPECT_EQ(TypeOf("device.allowMultipleAllocations", {.allow_multiple_allocations = false}),
            "undefined field 'allowMultipleAllocations'");
  EXPECT_EQ(TypeOf("device.attributes['a'].b.all(x, x)", {.dyn_attributes = false}),
            "expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)");
  EXPECT_EQ(TypeOf("device.attributes['a'].b.all(x, x)", {.dyn_attributes = true}), "bool");
  EXPECT_EQ(TypeOf("[1, 'a']", {.homogeneous_literals = false}), "list(dyn)");
  EXPECT_EQ(TypeOf("[1, 'a']"), "expected type 'int' but found 'string'");
}

}  // namespace
}  // namespace tessera::cel
