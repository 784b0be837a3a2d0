#include "health/terms.h"

#include <gtest/gtest.h>

#include <array>

#include "base/clock.h"

namespace tessera::health {
namespace {

TEST(Terms, EveryKindHasANameThatReadsBack) {
  for (std::size_t i = 0; i < kKinds; ++i) {
    Kind kind{};
    ASSERT_TRUE(FromText(ToText(static_cast<Kind>(i)), kind));
    EXPECT_EQ(kind, static_cast<Kind>(i));
  }
  for (std::size_t i = 0; i < kClasses; ++i) {
    Class cls{};
    ASSERT_TRUE(FromText(ToText(static_cast<Class>(i)), cls));
    EXPECT_EQ(cls, static_cast<Class>(i));
  }
  Severity severity{};
  EXPECT_FALSE(FromText("Lost", severity)) << "case counts";
}

TEST(Span, ReadsOneNumberAndOneUnit) {
  struct Case {
    std::string_view text;
    std::optional<int> seconds;
    std::string_view printed;
  };
  constexpr std::array kCases{
      Case{"0s", 0, "0s"},     Case{"90s", 90, "90s"},   Case{"60s", 60, "1m"},
      Case{"10m", 600, "10m"}, Case{"24h", 86400, "1d"}, Case{"365d", 31536000, "365d"},
      Case{"366d", {}, ""},    Case{"", {}, ""},         Case{"s", {}, ""},
      Case{"10", {}, ""},      Case{"-1s", {}, ""},      Case{"1h30m", {}, ""},
      Case{"1.5h", {}, ""},    Case{"1 s", {}, ""},      Case{"99999999999s", {}, ""},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    Span span;
    ASSERT_EQ(FromText(c.text, span), c.seconds.has_value());
    if (c.seconds) {
      EXPECT_EQ(span.value.count(), *c.seconds);
      EXPECT_EQ(ToText(span), c.printed);
    }
  }
}

TEST(Rfc3339, ReadsWhatWePrintAndOffsets) {
  struct Case {
    std::string_view text, utc;
  };
  constexpr std::array kCases{
      Case{"2026-11-15T18:00:00Z", "2026-11-15T18:00:00Z"},
      Case{"2026-11-15T18:00:00.123456Z", "2026-11-15T18:00:00Z"},
      Case{"2026-11-15T18:00:00+02:00", "2026-11-15T16:00:00Z"},
      Case{"2026-01-01T00:30:00-01:15", "2026-01-01T01:45:00Z"},
      Case{"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
      Case{"2026-02-29T00:00:00Z", ""},
      Case{"2026-11-15", ""},
      Case{"2026-11-15T18:00:00", ""},
      Case{"2026-11-15 18:00:00Z", ""},
      Case{"2026-11-15T25:00:00Z", ""},
      Case{"9999-11-15T00:00:00Z", ""},
      Case{"2026-11-15T18:00:00.Z", ""},
      Case{"2026-11-15T18:00:00+2:00", ""},
      Case{"2026-+1-15T18:00:00Z", ""},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto time = ParseRfc3339(c.text);
    EXPECT_EQ(time ? Rfc3339(*time) : "", c.utc);
  }
}

}  // namespace
}  // namespace tessera::health
