#include "base/semver.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tessera {
namespace {

Semver V(std::string_view text) {
  const auto version = Semver::Parse(text);
  EXPECT_TRUE(version.has_value()) << text;
  return version.value_or(Semver{});
}

// The answers of blang/semver v4.0.0 (Parse, and ParseTolerant less its trimming) and Masterminds/semver v3.5.0
// (NewVersion).
TEST(Semver, ReadsAsKubernetesAndTheGoDriverDo) {
  struct Case {
    std::string_view text, strict, tolerant, coerced;  // Empty where the text is refused.
  };
  constexpr std::array kCases{
      // Semantic versions.
      Case{"1.2.3", "1.2.3", "1.2.3", "1.2.3"},
      Case{"0.0.0", "0.0.0", "0.0.0", "0.0.0"},
      Case{"1.2.3-rc.1", "1.2.3-rc.1", "1.2.3-rc.1", "1.2.3-rc.1"},
      Case{"1.2.3-rc.1+b.5", "1.2.3-rc.1+b.5", "1.2.3-rc.1+b.5", "1.2.3-rc.1+b.5"},
      Case{"1.2.3+001", "1.2.3+001", "1.2.3+001", "1.2.3+001"},
      Case{"1.2.3-0a", "1.2.3-0a", "1.2.3-0a", "1.2.3-0a"},
      Case{"1.2.3--", "1.2.3--", "1.2.3--", "1.2.3--"},
      Case{"1.2.3+a-b", "1.2.3+a-b", "1.2.3+a-b", "1.2.3+a-b"},
      Case{"550.54.15-grid", "550.54.15-grid", "550.54.15-grid", "550.54.15-grid"},
      Case{"18446744073709551615.0.0", "18446744073709551615.0.0", "18446744073709551615.0.0",
           "18446744073709551615.0.0"},
      // Short, with a "v" or with leading zeros.
      Case{"v1.2.3", "", "1.2.3", "1.2.3"},
      Case{"01.2.3", "", "1.2.3", "1.2.3"},
      Case{"1.02.3", "", "1.2.3", "1.2.3"},
      Case{"1.2.03", "", "1.2.3", "1.2.3"},
      Case{"001.0.007", "", "1.0.7", "1.0.7"},
      Case{"00.00.00", "", "0.0.0", "0.0.0"},
      Case{"1.2.03-rc", "", "1.2.3-rc", "1.2.3-rc"},
      Case{"1.2", "", "1.2.0", "1.2.0"},
      Case{"1", "", "1.0.0", "1.0.0"},
      Case{"v1", "", "1.0.0", "1.0.0"},
      Case{"v01.2", "", "1.2.0", "1.2.0"},
      Case{"570.158.01", "", "570.158.1", "570.158.1"},
      Case{"580", "", "580.0.0", "580.0.0"},
      Case{"13.0", "", "13.0.0", "13.0.0"},
      // Where tolerant and coerced differ.
      Case{"1-rc", "", "", "1.0.0-rc"},
      Case{"1.2-rc", "", "", "1.2.0-rc"},
      Case{"1.2+b", "", "", "1.2.0+b"},
      Case{"v580-rc1", "", "", "580.0.0-rc1"},
      Case{"1.2.-rc", "", "1.2.0-rc", ""},
      // No version.
      Case{"", "", "", ""},
      Case{"v", "", "", ""},
      Case{".", "", "", ""},
      Case{"1.", "", "", ""},
      Case{"1.2.", "", "", ""},
      Case{"1..3", "", "", ""},
      Case{"1.2.3.4", "", "", ""},
      Case{"vv1.2.3", "", "", ""},
      Case{"V1.2.3", "", "", ""},
      Case{"-1.2.3", "", "", ""},
      Case{"+1.2.3", "", "", ""},
      Case{"18446744073709551616.0.0", "", "", ""},
      Case{"1.2.3-", "", "", ""},
      Case{"1.2.3+", "", "", ""},
      Case{"1.2.3-+b", "", "", ""},
      Case{"1.2.3-01", "", "", ""},
      Case{"1.2.3-a..b", "", "", ""},
      Case{"1.2.3-a_b", "", "", ""},
      Case{"1.2.3+a+b", "", "", ""},
      Case{"1.2.3+a..b", "", "", ""},
      Case{" 1.2.3", "", "", ""},
      Case{"1.2.3 ", "", "", ""},
      Case{"1.2.x", "", "", ""},
      Case{"N/A", "", "", ""},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message() << '"' << c.text << '"');
    const auto strict = Semver::Parse(c.text);
    EXPECT_EQ(strict ? strict->ToString() : "", c.strict);
    const auto tolerant = Semver::ParseTolerant(c.text);
    EXPECT_EQ(tolerant ? tolerant->ToString() : "", c.tolerant);
    const auto coerced = Semver::Coerce(c.text);
    EXPECT_EQ(coerced ? coerced->ToString() : "", c.coerced);
  }
}

TEST(Semver, PartsAreTakenApart) {
  const Semver version = V("1.2.3-rc.1+b-5.x");
  EXPECT_EQ(version.major, 1U);
  EXPECT_EQ(version.minor, 2U);
  EXPECT_EQ(version.patch, 3U);
  EXPECT_EQ(version.pre_release, "rc.1");
  EXPECT_EQ(version.build, "b-5.x");
}

TEST(Semver, WhatCoerceGivesParseTakes) {
  // Masterminds accepts this number, and the API server would refuse the attribute.
  EXPECT_EQ(Semver::Coerce("1.2.3-18446744073709551616"), std::nullopt);
}

TEST(Semver, ErrorsNameWhatWasFound) {
  struct Case {
    std::string_view text, message;
  };
  constexpr std::array kCases{
      Case{"", "Version string empty"},
      Case{"1.2", "No Major.Minor.Patch elements found: \"1.2\""},
      Case{"v1.2.3", "Invalid character(s) found in major number \"v1\""},
      Case{"1.x.3", "Invalid character(s) found in minor number \"x\""},
      Case{"1.2.3.4", "Invalid character(s) found in patch number \"3.4\""},
      Case{"01.2.3", "Major number must not contain leading zeroes \"01\""},
      Case{"1..3", "Minor number \"\" is empty"},
      Case{"1.2.18446744073709551616", "Patch number \"18446744073709551616\" is too large"},
      Case{"1.2.3-", "Prerelease is empty: \"\""},
      Case{"1.2.3-a..b", "Prerelease is empty: \"a..b\""},
      Case{"1.2.3-a_b", "Invalid character(s) found in prerelease \"a_b\""},
      Case{"1.2.3-01", "Numeric PreRelease version must not contain leading zeroes \"01\""},
      Case{"1.2.3-18446744073709551616", "Numeric PreRelease version \"18446744073709551616\" is too large"},
      Case{"1.2.3+a..b", "Build meta data is empty: \"a..b\""},
      Case{"1.2.3+a+b", "Invalid character(s) found in build meta data \"a+b\""},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto version = Semver::Parse(c.text);
    ASSERT_FALSE(version.has_value()) << version->ToString();
    EXPECT_EQ(version.error().message(), c.message);
    EXPECT_EQ(version.error().code(), "BadVersion");
    EXPECT_EQ(version.error().kind(), ErrorKind::kPermanentConfig);
  }
  EXPECT_EQ(Semver::ParseTolerant("1.2-rc").error().message(),
            "short version cannot contain PreRelease/Build meta data: \"1.2-rc\"");
}

TEST(Semver, OrderFollowsTheSpecification) {
  // From low to high; the middle is the example of semver.org, item 11.
  constexpr std::array<std::string_view, 15> kRising{
      "0.0.0-0",    "0.9.9",        "1.0.0-2",       "1.0.0-10",
      "1.0.0-A",    "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.beta",
      "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
      "1.0.0",      "1.0.10",       "1.2.0",
  };
  for (std::size_t i = 0; i < kRising.size(); ++i) {
    for (std::size_t j = 0; j < kRising.size(); ++j) {
      SCOPED_TRACE(testing::Message() << kRising[i] << " and " << kRising[j]);
      EXPECT_TRUE((V(kRising[i]) <=> V(kRising[j])) == (i <=> j));
    }
  }
}

TEST(Semver, BuildDoesNotCount) {
  EXPECT_EQ(V("1.0.0+a"), V("1.0.0+b"));
  EXPECT_EQ(V("1.0.0-rc+a"), V("1.0.0-rc"));
  EXPECT_NE(V("1.0.0-rc"), V("1.0.0"));
}

}  // namespace
}  // namespace tessera
