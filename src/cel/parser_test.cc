#include "cel/parser.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace tessera::cel {
namespace {

std::string PrintConstant(const Constant& constant) {
  const auto print = [](const auto& value) -> std::string {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::monostate>) {
      return "null";
    } else if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return Quote(value);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      return "b" + Quote(value.text);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      return Format("{}u", value);
    } else {
      return Format("{}", value);
    }
  };
  return std::visit(print, constant);
}

std::string_view MacroName(Macro macro) {
  constexpr std::string_view kNames[]{"all",    "exists",        "exists_one",   "map",
                                      "filter", "transformList", "transformMap", "transformMapEntry",
                                      "sortBy", "optMap",        "optFlatMap"};
  return kNames[static_cast<std::size_t>(macro)];
}

// The tree as (operation operand …).
std::string Print(const Ast& ast, NodeId id) {
  const Node& node = ast.at(id);
  std::string children;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool optional =
        !node.optional_entries.empty() && node.optional_entries[node.kind == NodeKind::kMap ? i / 2 : i];
    const bool is_key = node.kind != NodeKind::kMap || i % 2 == 0;
    children += Format(" {}{}", optional && is_key ? "?" : "", Print(ast, node.children[i]));
  }
  switch (node.kind) {
    case NodeKind::kConstant:
      return PrintConstant(node.constant);
    case NodeKind::kIdentifier:
      return (node.is_rooted ? "." : "") + node.name;
    case NodeKind::kSelect:
      return Format("({}.{}{})", node.test_only ? "has" : "", node.is_optional ? "?" : "", node.name + children);
    case NodeKind::kCall:
      return Format("({}{}{})", node.is_member ? "." : "", node.name, children);
    case NodeKind::kList:
      return Format("[{}]", Trim(children));
    case NodeKind::kMap:
      return Format("{{{}}}", Trim(children));
    case NodeKind::kStruct:
      return Format("({}{{}}{})", node.name, children);
    case NodeKind::kFold:
      return Format("({} {}{}{})", MacroName(node.macro), node.name, node.second.empty() ? "" : "," + node.second,
                    children);
    case NodeKind::kBind:
      return Format("(bind {}{})", node.name, children);
  }
  return {};
}

TEST(Parser, MakesTheTree) {
  struct Case {
    std::string_view expression, tree;
  };
  constexpr Case kCases[]{
      {"1 + 2 * 3", "(_+_ 1 (_*_ 2 3))"},
      {"(1 + 2) * 3", "(_*_ (_+_ 1 2) 3)"},
      {"1 - 2 - 3", "(_-_ (_-_ 1 2) 3)"},
      {"a || b && c || d", "(_||_ a (_&&_ b c) d)"},
      {"a ? b : c ? d : e", "(_?_:_ a b (_?_:_ c d e))"},
      {"a < b == true", "(_==_ (_<_ a b) true)"},
      {"!a && !!b", "(_&&_ (!_ a) b)"},
      {"-a - -1", "(_-_ (-_ a) -1)"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"0xFFu + 1.5e3", "(_+_ 255u 1500)"},
      {"a.b.c(1, 2)", "(.c (.b a) 1 2)"},
      {"a[1][?2]", "(_[?_] (_[_] a 1) 2)"},
      {"a.?b", "(.?b a)"},
      {"a.`b-c`", "(.b-c a)"},
      {"[1, ?a, ]", "[1 ?a]"},
      {"{'a': 1, ?'b': c}", "{\"a\" 1 ?\"b\" c}"},
      {"x in [1]", "(@in x [1])"},
      {".a.b", "(.b .a)"},
      {"a.b.C{d: 1}", "(a.b.C{} 1)"},
      {"has(a.b)", "(has.b a)"},
      {"l.all(x, x > 1)", "(all x l (_>_ x 1))"},
      {"l.map(x, x > 1, x)", "(map x l (_>_ x 1) x)"},
      {"l.exists(k, v, v)", "(exists k,v l v)"},
      {"l.sortBy(x, x)", "(sortBy x l x)"},
      {"cel.bind(x, 1, x)", "(bind x 1 x)"},
      {"o.optMap(x, x)", "(optMap x o x)"},
      {"l.all(x)", "(.all l x)"},  // Not the macro's arguments: a call, which the checker will not know.
      {"'a' \"b\" == 'c'", ""},
      {"'\\x41\\101\\u0041\\n' + r'\\n'", "(_+_ \"AAA\\n\" \"\\\\n\")"},
      {"b'\\xff' == b''", "(_==_ b\"\xff\" b\"\")"},
      {"'''a\n'b'''", "\"a\\n'b\""},
      {"1 // one\n+ 2", "(_+_ 1 2)"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.expression);
    const auto ast = Parse(c.expression);
    EXPECT_EQ(ast ? Print(*ast, ast->root) : "", c.tree);
  }
}

TEST(Parser, PointsAtWhatIsWrong) {
  struct Case {
    std::string_view expression, message;
  };
  constexpr Case kCases[]{
      {"", "<input>:1:1: Syntax error: mismatched input '<EOF>' expecting {"},
      {"a +", "<input>:1:4: Syntax error: mismatched input '<EOF>'"},
      {"a b", "<input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>"},
      {"(a", "<input>:1:3: Syntax error: missing ')' at '<EOF>'"},
      {"a[1", "<input>:1:4: Syntax error: missing ']' at '<EOF>'"},
      {"a &\nb", "<input>:1:3: Syntax error: token recognition error at: '&"},
      {"a ==\n  'b", "<input>:2:3: Syntax error: token recognition error at: ''b'"},
      {"'\xC3\xBC' == #", "<input>:1:8: Syntax error: token recognition error at: '#'"},
      {"'\\q'", "<input>:1:1: Syntax error: invalid escape sequence in literal"},
      {"'\\ud800'", "<input>:1:1: Syntax error: invalid escape sequence in literal"},
      {"'\xff'", "<input>:1:1: Syntax error: literal is not valid UTF-8"},
      {"9223372036854775808", "<input>:1:1: invalid int literal"},
      {"18446744073709551616u", "<input>:1:1: invalid uint literal"},
      {"1e999", "<input>:1:1: invalid double literal"},
      {"for + 1", "<input>:1:1: reserved identifier: for"},
      {"has(a)", "<input>:1:5: invalid argument to has() macro"},
      {"l.all(1, true)", "<input>:1:7: argument must be a simple name"},
      {"l.all(x, x, true)", "<input>:1:10: duplicate variable name: x"},
      {"cel.bind(1, 2, 3)", "<input>:1:10: cel.bind() variable names must be simple identifiers"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.expression);
    const auto ast = Parse(c.expression);
    ASSERT_FALSE(ast.has_value());
    EXPECT_TRUE(Render(c.expression, ast.error()).starts_with("ERROR: " + std::string(c.message)))
        << Render(c.expression, ast.error());
  }
}

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Parser, RefusesWhatIsNestedTooDeeply) {
  const auto nested = [](std::string_view open, std::string_view close, int times) {
    return Parse(Repeat(open, times) + "1" + Repeat(close, times)).has_value();
  };
  EXPECT_TRUE(nested("(", ")", 249));
  EXPECT_FALSE(nested("(", ")", 250));
  EXPECT_FALSE(nested("[", "]", 100'000));
  EXPECT_FALSE(nested("a(", ")", 100'000));
  EXPECT_FALSE(nested("{1:", "}", 100'000));
  EXPECT_FALSE(nested("true ? 1 : ", "", 100'000));
}

TEST(Parser, RefusesEndlessChains) {
  EXPECT_TRUE(Parse("1" + Repeat("+1", 900)).has_value());
  EXPECT_FALSE(Parse("1" + Repeat("+1", 100'000)).has_value());
  EXPECT_FALSE(Parse("a" + Repeat(".a", 100'000)).has_value());
  EXPECT_FALSE(Parse("a" + Repeat("[1]", 100'000)).has_value());
  EXPECT_FALSE(Parse("a" + Repeat(".f()", 100'000)).has_value());
  // These are no chains in the tree: signs cancel each other, and && takes any number of operands.
  EXPECT_TRUE(Parse(Repeat("-", 100'000) + "1").has_value());
  EXPECT_TRUE(Parse("a" + Repeat("&&a", 100'000)).has_value());
}

TEST(Parser, KnowsMacrosByRelease) {
  EXPECT_EQ(Parse("l.sortBy(x, x)", {.sort_by = false})->nodes.back().kind, NodeKind::kCall);
  EXPECT_EQ(Parse("l.sortBy(x, x)", {.sort_by = true})->nodes.back().kind, NodeKind::kFold);
  EXPECT_EQ(Parse("l.all(k, v, v)", {.two_variable_macros = false})->nodes.back().kind, NodeKind::kCall);
  EXPECT_FALSE(Parse("a.`b`", {.escaped_names = false}).has_value());
}

}  // namespace
}  // namespace tessera::cel
