#include <gtest/gtest.h>

#include "json/value.h"

namespace tessera::json {
namespace {

Value Sample() {
  return ParseJson(
             R"({"kind":"List","items":[{"name":"a","count":1,"tags":["x","yes"],"empty":{},"none":[]},{"name":"b: c"}],
                       "nested":{"deep":{"v":true}},"matrix":[[1,2],[3]],"nothing":null,"version":"1.10","ratio":1.0})")
      .value();
}

TEST(PrintJson, Indents) {
  EXPECT_EQ(PrintJson(ParseJson(R"({"a":[1,{"b":[]}],"c":{}})").value(), 2),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}");
}

TEST(PrintYaml, LooksLikeKubectl) {
  EXPECT_EQ(PrintYaml(Sample()), R"(kind: List
items:
- name: a
  count: 1
  tags:
  - x
  - "yes"
  empty: {}
  none: []
- name: "b: c"
nested:
  deep:
    v: true
matrix:
- - 1
  - 2
- - 3
nothing: null
version: "1.10"
ratio: 1.0
)");
}

TEST(PrintYaml, ReadsBackAsTheSameValue) {
  Value value = Sample();
  Array odd;
  for (const std::string_view text :
       {"",      " x",   "x ",          "-",      "- a",      "null",   "~",        "0x1F",   "1e3",   "a #b", "a: b",
        "key:",  "é",    "line\nbreak", "tab\t",  "#",        "@x",     "`x",       "*a",     "&a",    "!t",   "%d",
        "{a}",   "[a]",  "True",        "NO",     ".5",       "+1",     "=",        "<<",     "|",     ">",    "'q'",
        "\"q\"", "\x7F", "\u0080",      "\u0085", "a\u0085b", "\u2028", "a\u2029b", "\uFEFF", "\uFFFF"}) {
    odd.emplace_back(text);
  }
  value.get_object()["odd"] = odd;
  const auto again = ParseYaml(PrintYaml(value));
  ASSERT_TRUE(again.has_value()) << again.error().message() << "\n" << PrintYaml(value);
  ASSERT_EQ(again->size(), 1U);
  EXPECT_EQ(PrintJson(again->front()), PrintJson(value));
}

TEST(PrintYaml, AMarkOfADocumentIsTextToo) {
  for (const std::string_view text : {"...", "... x", "---", "--- x"}) {
    for (const Value& value : {Value(text), Value(Object{{text, 1}})}) {
      const auto again = ParseYaml(PrintYaml(value));
      ASSERT_TRUE(again.has_value() && again->size() == 1U) << PrintYaml(value);
      EXPECT_EQ(PrintJson(again->front()), PrintJson(value));
    }
  }
}

TEST(PrintYaml, KeysMayBeLongerThanALineOfYamlAllows) {
  for (const std::size_t length : {1000U, 1023U, 1024U, 1025U, 5000U}) {
    const std::string key(length, 'k');
    const Value value(Array{Object{{key, 1}, {"next", Object{{key + ": ", Array{1, 2}}, {"last", true}}}}});
    const auto again = ParseYaml(PrintYaml(value));
    ASSERT_TRUE(again.has_value()) << length << ": " << again.error().message();
    EXPECT_EQ(PrintJson(again->front()), PrintJson(value));
  }
}

TEST(Describe, IsShort) {
  EXPECT_EQ(Describe(Value("two")), "\"two\"");
  EXPECT_EQ(Describe(Value(3)), "3");
  EXPECT_EQ(Describe(Sample()), "object");
  EXPECT_LT(Describe(Value(std::string(1000, 'x'))).size(), 70U);
}

}  // namespace
}  // namespace tessera::json
