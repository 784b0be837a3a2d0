#include "base/text.h"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

TEST(Text, SplitAndCut) {
  EXPECT_EQ(Split("a,b,,c", ','), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(Cut("key: value: more", ": "), (std::pair<std::string_view, std::string_view>{"key", "value: more"}));
  EXPECT_EQ(Cut("key", ": "), std::nullopt);
}

TEST(Text, TrimLowerJoin) {
  EXPECT_EQ(Trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(Lower("00000000:3B:00.0 \xC3\x84"), "00000000:3b:00.0 \xC3\x84");
  const std::array<std::string, 3> parts{"a", "b", "c"};
  EXPECT_EQ(Join(parts, ", "), "a, b, c");
}

TEST(Text, ClipKeepsCharactersWhole) {
  EXPECT_EQ(Clip("abc", 3), "abc");
  EXPECT_EQ(Clip("ab\xC3\xA9", 3), "ab");
  EXPECT_EQ(Clip("ab\xC3\xA9", 4), "ab\xC3\xA9");
  EXPECT_EQ(Clip("\xE2\x82\xAC", 2), "");
}

TEST(Text, DnsSubdomainsAreKubernetesNames) {
  for (const std::string_view good : {"n", "node-1", "gpu-node.example.com", "0"})
    EXPECT_TRUE(IsDnsSubdomain(good)) << good;
  for (const std::string_view bad : {"", "Node", "a_b", "-a", "a-", "a..b", "a b", "."}) {
    EXPECT_FALSE(IsDnsSubdomain(bad)) << bad;
  }
  EXPECT_FALSE(IsDnsSubdomain(std::string(64, 'a')));
}

TEST(Text, QuoteIsOneSafeLine) { EXPECT_EQ(Quote("a\"b\\c\nd\x01"), R"("a\"b\\c\nd\x01")"); }

TEST(Text, ParseNumberTakesAllOrNothing) {
  EXPECT_EQ(ParseNumber<int>("42"), 42);
  EXPECT_EQ(ParseNumber<unsigned>("ff", 16), 255U);
  for (const std::string_view bad : {"", " 1", "1 ", "+1", "0x1", "1.0", "99999999999999999999"}) {
    EXPECT_EQ(ParseNumber<int>(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(ParseNumber<unsigned>("-1"), std::nullopt);
}

TEST(Text, NearMatchFindsSlipsOnly) {
  constexpr std::array<std::string_view, 3> kNames{"productName", "architecture", "uuid"};
  EXPECT_EQ(NearMatch("productname", kNames), "productName");
  EXPECT_EQ(NearMatch("archtecture", kNames), "architecture");
  EXPECT_EQ(NearMatch("memory", kNames), std::nullopt);
}

TEST(Text, CountsInTheSingularAndThePlural) {
  EXPECT_EQ(Counted(0, "node"), "0 nodes");
  EXPECT_EQ(Counted(1, "node"), "1 node");
  EXPECT_EQ(Counted(5, "more node"), "5 more nodes");
}

}  // namespace
}  // namespace tessera
