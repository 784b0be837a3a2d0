#include "cel/number_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cel/time_zone.h"

namespace tessera::cel {
namespace {

TEST(NumberText, DoublesPrintAsInGo) {
  EXPECT_EQ(PrintDouble(0.5), "0.5");
  EXPECT_EQ(PrintDouble(100000), "100000");
  EXPECT_EQ(PrintDouble(1000000), "1e+06");
  EXPECT_EQ(PrintDouble(0.0001), "0.0001");
  EXPECT_EQ(PrintDouble(0.00001), "1e-05");
  EXPECT_EQ(PrintDouble(-0.0), "-0");
  EXPECT_EQ(PrintDouble(NAN), "NaN");
  EXPECT_EQ(PrintDouble(-HUGE_VAL), "-Inf");
}

TEST(NumberText, DoublesAreReadWholeOrNotAtAll) {
  EXPECT_EQ(ParseDouble("1.5e3"), 1500);
  EXPECT_EQ(ParseDouble("-Infinity"), -HUGE_VAL);
  EXPECT_EQ(ParseDouble("1e-400"), 0);
  for (const std::string_view bad : {"", "1x", "--1", "1e999", "+-1", " 1"}) EXPECT_FALSE(ParseDouble(bad)) << bad;
}

TEST(NumberText, DurationsAreReadAsInGo) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(ParseDuration("1h30m"), 5400 * kSecond);
  EXPECT_EQ(ParseDuration("-1.5s"), -3 * kSecond / 2);
  EXPECT_EQ(ParseDuration("100ns"), 100);
  EXPECT_EQ(ParseDuration("1us1\u00b5s1\u03bcs"), 3000);
  EXPECT_EQ(ParseDuration("0"), 0);
  EXPECT_EQ(ParseDuration("0.000000001s"), 1);
  for (const std::string_view bad : {"", "1", "s", "1x", "1h-1m", "9999999h", ".s"})
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  EXPECT_EQ(PrintDuration(90 * kSecond), "90s");
  EXPECT_EQ(PrintDuration(-kSecond / 2), "-0.5s");
}

TEST(NumberText, TimesAreReadAndPrinted) {
  const auto again = [](std::string_view text) {
    const auto time = ParseTime(text);
    return time ? PrintTime(*time) : "";
  };
  EXPECT_EQ(again("2023-01-01T00:00:00Z"), "2023-01-01T00:00:00Z");
  EXPECT_EQ(again("2023-01-01T00:00:00.120+02:00"), "2022-12-31T22:00:00.12Z");
  EXPECT_EQ(again("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00Z");
  EXPECT_EQ(again("2024-02-29T23:59:59Z"), "2024-02-29T23:59:59Z");
  for (const std::string_view bad : {"2023-02-29T00:00:00Z", "2023-01-01 00:00:00Z", "2023-01-01T24:00:00Z",
                                     "2023-01-01T00:00:00", "2023-1-1T00:00:00Z", "2023-01-01T00:00:00.Z"}) {
    EXPECT_EQ(again(bad), "") << bad;
  }
}

TEST(TimeZone, OffsetsByNameAndNumber) {
  EXPECT_EQ(ZoneOffset("UTC", 0), 0);
  EXPECT_EQ(ZoneOffset("+02:30", 0), 9000);
  EXPECT_EQ(ZoneOffset("-11:00", 0), -39600);
  EXPECT_EQ(ZoneOffset("Asia/Kolkata", 1'700'000'000), 19800);
  EXPECT_EQ(ZoneOffset("Europe/Paris", 1'700'000'000), 3600);  // November.
  EXPECT_EQ(ZoneOffset("Europe/Paris", 1'690'000'000), 7200);  // July.
  for (const std::string_view bad : {"+2:30", "+25:00", "../../etc/passwd", "/etc/localtime", "No/Such", "Europe"}) {
    EXPECT_FALSE(ZoneOffset(bad, 0)) << bad;
  }
}

}  // namespace
}  // namespace tessera::cel
