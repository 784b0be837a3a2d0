#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "json/value.h"

namespace tessera::json {
namespace {

TEST(ParseJson, RoundTripsWithKeyOrder) {
  for (const std::string_view text :
       {R"({"b":1,"a":[true,null,"x\n\"é"],"c":{"d":-9223372036854775808,"e":18446744073709551615}})", "[]", "{}", "3",
        R"("")", "0.1", "1e+300", "5e-324", "0.30000000000000004"}) {
    const auto value = ParseJson(text);
    ASSERT_TRUE(value.has_value()) << text << ": " << value.error().message();
    EXPECT_EQ(PrintJson(*value), text);
  }
}

TEST(ParseJson, RefusesWithAPosition) {
  struct Case {
    std::string text;
    std::string_view error;
  };
  const std::array cases{
      Case{"{\"a\":1,\n \"a\":2}", "duplicate key \"a\" at line 2"},
      Case{"", "incomplete"},
      Case{"{\"a\":1} x", "extra data"},
      Case{"{\"a\":}", "line 1, column"},
      Case{"\"\xFF\"", "line 1, column"},
      Case{"[1,]", "line 1, column"},
      Case{"NaN", "line 1, column"},
      Case{std::string(100, '[') + std::string(100, ']'), "line 1, column"},
  };
  for (const Case& c : cases) {
    const auto value = ParseJson(c.text);
    ASSERT_FALSE(value.has_value()) << c.text;
    EXPECT_THAT(value.error().message(), testing::HasSubstr(c.error)) << c.text;
    EXPECT_EQ(value.error().code(), "BadJson");
  }
}

TEST(ParseJson, TakesDocumentsOfAnySplit) {
  std::string text = "[";
  for (int i = 0; i < 20000; ++i) text += "\"key" + std::to_string(i) + "\",";
  text += "0.25]";
  const auto value = ParseJson(text);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->get_array().size(), 20001U);
  EXPECT_EQ(PrintJson(*value), text);
}

}  // namespace
}  // namespace tessera::json
