#include "health/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tessera::health {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Policy Parse(std::string_view text) {
  auto policy = Policy::Parse(text);
  EXPECT_TRUE(policy.has_value()) << policy.error().Text();
  return policy.value_or(Policy());
}

TEST(Policy, AnEmptyFileChangesNothing) {
  EXPECT_EQ(Parse({}), Policy());
  EXPECT_EQ(Parse(""), Policy());
  EXPECT_EQ(Parse("# nothing\n"), Policy());
  EXPECT_EQ(Parse("version: 1\n"), Policy());
}

TEST(Policy, DefaultsAreTheCatalogues) {
  const Policy policy;
  const Rule thermal = policy.RuleFor(Kind::kThermalSlowdown, "NVIDIA H200");
  EXPECT_EQ(thermal.severity, Severity::kDegraded);
  EXPECT_EQ(thermal.mode, Mode::kTaint);
  EXPECT_EQ(thermal.confirm, seconds{60});
  EXPECT_EQ(policy.XidRule(79, "").severity, Severity::kLost);
  EXPECT_EQ(policy.lease(), seconds{30});
}

TEST(Policy, TheNearestEntryWins) {
  const Policy policy = Parse(R"(
version: 1
classes:
  memory: {mode: observe, severity: degraded}
reasons:
  EccUncorrected: {mode: evict, threshold: 3, window: 2h, quiet: 5m}
xids:
  95: {severity: lost}
  13: {severity: unusable, quiet: 1m}
models:
- product: NVIDIA A100*
  classes: {memory: {mode: taint}}
  reasons: {EccUncorrected: {threshold: 7}}
  xids: {95: {severity: unusable}}
)");
  const Rule ecc = policy.RuleFor(Kind::kEccUncorrected, "NVIDIA H100");
  EXPECT_EQ(ecc.mode, Mode::kEvict) << "a reason outranks its class";
  EXPECT_EQ(ecc.severity, Severity::kDegraded) << "what the reason does not say, its class says";
  EXPECT_EQ(ecc.threshold, 3U);
  EXPECT_EQ(ecc.window, seconds{7200});
  EXPECT_EQ(ecc.quiet, seconds{300});
  EXPECT_EQ(ecc.hold, seconds{60}) << "and the rest is the catalogue's";
  EXPECT_EQ(policy.RuleFor(Kind::kRowRemapFailed, "").mode, Mode::kObserve);
  EXPECT_EQ(policy.RuleFor(Kind::kRowRemapFailed, "NVIDIA A100-SXM4-80GB").mode, Mode::kTaint);

  const Rule a100 = policy.RuleFor(Kind::kEccUncorrected, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(a100.threshold, 7U);
  EXPECT_EQ(a100.mode, Mode::kEvict) << "a model's class does not outrank a reason";

  EXPECT_EQ(policy.XidRule(95, "").severity, Severity::kLost);
  EXPECT_EQ(policy.XidRule(95, "NVIDIA A100-PCIE-40GB").severity, Severity::kUnusable);
  EXPECT_EQ(policy.XidRule(48, "").severity, Severity::kDegraded);
  EXPECT_EQ(policy.XidRule(74, "").severity, Severity::kUnusable) << "another class";
  EXPECT_EQ(policy.XidRule(13, "").quiet, seconds{60});
}

TEST(Policy, OnlyAChoiceForThisVeryCodeIsPinned) {
  const Policy policy = Parse("version: 1\nclasses: {firmware: {severity: lost}}\nxids: {120: {severity: lost}}\n");
  EXPECT_FALSE(policy.XidRule(119, "").pinned);
  EXPECT_TRUE(policy.XidRule(120, "").pinned);
}

TEST(Policy, IgnoresXidsAsTheGoDriverDoes) {
  Policy policy = Parse("version: 1\nclasses: {firmware: {severity: lost}}\nxids: {120: {severity: unusable}}\n");
  EXPECT_THAT(policy.IgnoreXids(" 119, 120,x,,-3, 5000000000"), ElementsAre("x", "-3"));
  EXPECT_EQ(policy.XidRule(119, "").severity, Severity::kNone) << "also where its class says otherwise";
  EXPECT_EQ(policy.XidRule(120, "").severity, Severity::kUnusable) << "the file names this code";
  EXPECT_EQ(policy.XidRule(5000000000, "").severity, Severity::kNone);
  EXPECT_EQ(policy.XidRule(62, "").severity, Severity::kLost);
  EXPECT_THAT(policy.IgnoreXids(""), IsEmpty());
}

TEST(Policy, TheBrakeNeedsAShareAndANumber) {
  struct Case {
    std::size_t hit, all;
    bool brakes;
  };
  constexpr std::array kCases{Case{1, 1, false}, Case{1, 2, false}, Case{2, 2, true},
                              Case{4, 8, false}, Case{5, 8, true},  Case{8, 8, true}};
  for (const Case& c : kCases) EXPECT_EQ(Policy().Brakes(c.hit, c.all), c.brakes) << c.hit << " of " << c.all;
  const Policy never = Parse("version: 1\nbrake: {share: 1.0}\n");
  EXPECT_FALSE(never.Brakes(8, 8));
  const Policy strict = Parse("version: 1\nbrake: {share: 0, gpus: 1}\n");
  EXPECT_TRUE(strict.Brakes(1, 8));
}

TEST(Policy, SaysWhatIsWrongWithAFile) {
  struct Case {
    std::string_view name, text, expected;
  };
  constexpr std::array kCases{
      Case{"no YAML", "a: [", "line 2"},
      Case{"no object", "- 1", "expected object"},
      Case{"two documents", "version: 1\n---\nversion: 1\n", "more than one"},
      Case{"no version", "lease: 30s", "version: required field is missing"},
      Case{"another version", "version: 2", "version: must be 1"},
      Case{"unknown field", "version: 1\nbreak: {share: 1}", "break"},
      Case{"a misspelt reason", "version: 1\nreasons: {ThermalSlowDown: {}}", "did you mean \"ThermalSlowdown\"?"},
      Case{"a misspelt class", "version: 1\nclasses: {memry: {mode: taint}}", "did you mean \"memory\"?"},
      Case{"no class at all", "version: 1\nclasses: {zzzzzzzzzz: {mode: taint}}", "known: application, memory"},
      Case{"a bad mode", "version: 1\nclasses: {memory: {mode: kill}}", "classes[\"memory\"].mode"},
      Case{"no number", "version: 1\nxids: {seven: {severity: lost}}", "\"seven\" is no Xid"},
      Case{"an Xid that is gone", "version: 1\nxids: {79: {proof: gone}}", "quiet or reset"},
      Case{"the reason Xid", "version: 1\nreasons: {Xid: {severity: none}}", "below xids"},
      Case{"a condition's proof", "version: 1\nreasons: {RowRemapFailed: {proof: quiet}}", "its proof is gone"},
      Case{"a condition's quiet", "version: 1\nreasons: {RowRemapFailed: {quiet: 1h}}", "set hold"},
      Case{"threshold 0", "version: 1\nreasons: {EccCorrected: {threshold: 0}}", "at least 1"},
      Case{"a long lease", "version: 1\nlease: 2h", "must be from 3s to 1h"},
      Case{"no span", "version: 1\nlease: 30", "lease: expected string"},
      Case{"share over 1", "version: 1\nbrake: {share: 50}", "from 0 to 1"},
      Case{"any model", "version: 1\nmodels: [{product: '*'}]", "models[0].product"},
      Case{"in a model", "version: 1\nmodels: [{product: a, xids: {x: {}}}]", "models[0].xids"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto policy = Policy::Parse(c.text);
    ASSERT_FALSE(policy.has_value());
    EXPECT_EQ(policy.error().code(), "HealthPolicyInvalid");
    EXPECT_EQ(policy.error().kind(), ErrorKind::kPermanentConfig);
    EXPECT_THAT(policy.error().message(), HasSubstr(c.expected));
    EXPECT_THAT(policy.error().advice(), HasSubstr("docs/health.md"));
  }
  EXPECT_FALSE(Policy::Parse(std::string(kMaxPolicySize + 1, '#')).has_value());
}

TEST(Policy, ReportsAllFaultsOfAFileAtOnce) {
  const auto policy = Policy::Parse("version: 1\nclasses: {x: {}}\nreasons: {y: {}}\nxids: {z: {}}\n");
  ASSERT_FALSE(policy.has_value());
  EXPECT_THAT(policy.error().message(), HasSubstr("\"x\""));
  EXPECT_THAT(policy.error().message(), HasSubstr("\"y\""));
  EXPECT_THAT(policy.error().message(), HasSubstr("\"z\""));
}

}  // namespace
}  // namespace tessera::health
