#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "json/value.h"

namespace tessera::json {
namespace {

std::string AsJson(std::string_view yaml) {
  const auto documents = ParseYaml(yaml);
  if (!documents.has_value()) return "error: " + documents.error().message();
  std::string all;
  for (const Value& document : *documents) all += PrintJson(document) + "\n";
  return all;
}

TEST(ParseYaml, ResolvesScalarsAsKubernetesDoes) {
  struct Case {
    std::string_view yaml, json;
  };
  constexpr std::array kCases{
      Case{"yes", "true"},
      Case{"off", "false"},
      Case{"~", ""},
      Case{"0644", "420"},
      Case{"0x1F", "31"},
      Case{"1_000", "1000"},
      Case{"-3", "-3"},
      Case{"+3", "3"},
      Case{"1.5", "1.5"},
      Case{".5", "0.5"},
      Case{"1e3", "1000.0"},
      Case{"'1'", "\"1\""},
      Case{"!!str 1", "\"1\""},
      Case{"1.2.3", "\"1.2.3\""},
      Case{"24Gi", "\"24Gi\""},
      Case{"08", "8.0"},
      Case{"2026-08-21", "\"2026-08-21\""},
      Case{"18446744073709551615", "18446744073709551615"},
      Case{"-9223372036854775808", "-9223372036854775808"},
      Case{"-", "[null]"},
      Case{"0000:07:00.0", "\"0000:07:00.0\""},
  };
  for (const Case& c : kCases) EXPECT_EQ(AsJson(c.yaml), c.json.empty() ? "" : std::string(c.json) + "\n") << c.yaml;
}

TEST(ParseYaml, ReadsManyDocumentsAndJson) {
  EXPECT_EQ(AsJson("a: 1\n---\n---\n# nothing\n---\n{\"b\": [1, \"x\"]}\n...\n"), "{\"a\":1}\n{\"b\":[1,\"x\"]}\n");
  EXPECT_EQ(AsJson(""), "");
}

TEST(ParseYaml, ExpandsAliases) { EXPECT_EQ(AsJson("a: &x [1, 2]\nb: *x\n"), "{\"a\":[1,2],\"b\":[1,2]}\n"); }

TEST(ParseMarkedYaml, KnowsTheLineOfEachPart) {
  const auto documents = ParseMarkedYaml("---\n---\nspec:\n  a.b/c: &x\n  - one\n  - k: 1\n  last: *x\n");
  ASSERT_TRUE(documents.has_value()) << documents.error().message();
  ASSERT_EQ(documents->size(), 1U);
  const MarkedDocument& document = documents->front();
  EXPECT_EQ(document.number, 2U);
  struct Case {
    std::string_view path;
    std::size_t line;
  };
  constexpr std::array kCases{
      Case{"", 3},
      Case{"spec", 3},
      Case{"spec[\"a.b/c\"]", 4},
      Case{"spec[\"a.b/c\"][0]", 5},
      Case{"spec[\"a.b/c\"][1].k", 6},
      Case{"spec.last", 7},
      Case{"spec.last[1].k", 7},  // Where the alias is used.
      Case{"spec.absent.deeper", 3},
      Case{"spec[\"a.b/c\"][9]", 4},
      Case{"spec[", 3},
  };
  for (const Case& c : kCases) EXPECT_EQ(LineOf(document.value, document.mark, c.path), c.line) << c.path;
}

TEST(ParseYaml, RefusesWithAPosition) {
  struct Case {
    std::string yaml;
    std::string_view error;
  };
  std::string laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int n = 0; n < 9; ++n) laughs += "," + last;
    laughs += "]\n";
  }
  std::string many_aliases;
  for (int i = 0; i < 1000; ++i) many_aliases += "*a,";
  const std::array cases{
      Case{"a: 1\na: 2\n", "duplicate key \"a\" at line 2, column 1"},
      Case{"a: [1\n", "line"},
      Case{"? [a]\n: 1\n", "a key must be a string"},
      Case{"a: *x\n", "alias to an unknown anchor"},
      Case{"a: !!python/object x\n", "is not supported"},
      Case{"a: &x {b: 1}\nc:\n  <<: *x\n", "merge keys"},
      Case{laughs, "too many values"},
      Case{"a: &a " + std::string(100'000, 'x') + "\nb: [" + many_aliases + "*a]\n", "too much text"},
      Case{std::string(200, '[') + std::string(200, ']'), "nested too deeply"},
      Case{"a: \xFF\n", "line"},
      Case{"a: b: c\n", "line 1"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(AsJson(c.yaml), testing::AllOf(testing::StartsWith("error: "), testing::HasSubstr(c.error)))
        << c.yaml.substr(0, 80);
  }
}

}  // namespace
}  // namespace tessera::json
