#include "cel/conjuncts.h"

#include <gtest/gtest.h>

#include <array>

namespace tessera::cel {
namespace {

TEST(Conjuncts, AreThePartsThatMustAllBeTrue) {
  struct Case {
    std::string_view expression, parts;
  };
  constexpr std::array kCases{
      Case{"a", "a"},
      Case{"a && b", "a|b"},
      Case{"(a && b) && c", "a|b|c"},
      Case{"((a && (b)))", "a|(b)"},
      Case{"a && (b || c) && d", "a|(b || c)|d"},
      Case{"a || b && c", "a || b && c"},
      Case{"a ? b : c && d", "a ? b : c && d"},
      Case{"a.?b.orValue(true) && c", "a.?b.orValue(true)|c"},
      Case{"f(a && b) && [x && y][0]", "f(a && b)|[x && y][0]"},
      Case{"(a) && (b)", "(a)|(b)"},
      Case{"a == '&&' && b // why && not\n", "a == '&&'|b"},
      Case{"'unfinished", "'unfinished"},
      Case{"", ""},
      Case{"a && ", "a"},
  };
  for (const Case& c : kCases) {
    std::string listed;
    for (const std::string_view part : Conjuncts(c.expression))
      listed += std::string(listed.empty() ? "" : "|").append(part);
    EXPECT_EQ(listed, c.parts) << c.expression;
  }
}

}  // namespace
}  // namespace tessera::cel
