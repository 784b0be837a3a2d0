#include "base/quantity.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace tessera {
namespace {

using enum QuantityFormat;

constexpr auto kNone = std::nullopt;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::string_view kSixtyDigits = "123456789012345678901234567890123456789012345678901234567890";

Quantity Q(std::string_view text) {
  const auto quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity.has_value()) << text;
  return quantity.value_or(Quantity());
}

// The rows of the next two tables are the answers of k8s.io/apimachinery v0.34.1: ParseQuantity, CanonicalizeBytes,
// Format, Value, AsInt64, Add, Sub and Cmp.
TEST(Quantity, ReadsAndPrintsAsKubernetesDoes) {
  struct Case {
    std::string_view text, canonical;
    QuantityFormat format;
    std::int64_t value;
    std::optional<std::int64_t> go_int64;
  };
  constexpr std::array kCases{
      // Every suffix.
      Case{"1n", "1n", kDecimalSi, 1, kNone},
      Case{"1u", "1u", kDecimalSi, 1, kNone},
      Case{"1m", "1m", kDecimalSi, 1, kNone},
      Case{"1", "1", kDecimalSi, 1, 1},
      Case{"1k", "1k", kDecimalSi, 1000, 1000},
      Case{"1M", "1M", kDecimalSi, 1000000, 1000000},
      Case{"1G", "1G", kDecimalSi, 1000000000, 1000000000},
      Case{"1T", "1T", kDecimalSi, 1000000000000, 1000000000000},
      Case{"1P", "1P", kDecimalSi, 1000000000000000, 1000000000000000},
      Case{"1E", "1E", kDecimalSi, 1000000000000000000, 1000000000000000000},
      Case{"1Ki", "1Ki", kBinarySi, 1024, 1024},
      Case{"1Mi", "1Mi", kBinarySi, 1048576, 1048576},
      Case{"1Gi", "1Gi", kBinarySi, 1073741824, 1073741824},
      Case{"1Ti", "1Ti", kBinarySi, 1099511627776, 1099511627776},
      Case{"1Pi", "1Pi", kBinarySi, 1125899906842624, kNone},
      Case{"1Ei", "1Ei", kBinarySi, 1152921504606846976, kNone},
      // Every suffix with a fraction.
      Case{"1.5n", "2n", kDecimalSi, 1, kNone},
      Case{"1.5u", "1500n", kDecimalSi, 1, kNone},
      Case{"1.5m", "1500u", kDecimalSi, 1, kNone},
      Case{"1.5", "1500m", kDecimalSi, 2, kNone},
      Case{"1.5k", "1500", kDecimalSi, 1500, 1500},
      Case{"1.5M", "1500k", kDecimalSi, 1500000, 1500000},
      Case{"1.5G", "1500M", kDecimalSi, 1500000000, 1500000000},
      Case{"1.5T", "1500G", kDecimalSi, 1500000000000, 1500000000000},
      Case{"1.5P", "1500T", kDecimalSi, 1500000000000000, 1500000000000000},
      Case{"1.5E", "1500P", kDecimalSi, 1500000000000000000, 1500000000000000000},
      Case{"1.5Ki", "1536", kBinarySi, 1536, kNone},
      Case{"62.5Ki", "64000", kBinarySi, 64000, kNone},
      Case{"1.5Mi", "1536Ki", kBinarySi, 1572864, kNone},
      Case{"1.5Gi", "1536Mi", kBinarySi, 1610612736, kNone},
      Case{"1.5Ti", "1536Gi", kBinarySi, 1649267441664, kNone},
      Case{"1.5Pi", "1536Ti", kBinarySi, 1688849860263936, kNone},
      Case{"1.5Ei", "1536Pi", kBinarySi, 1729382256910270464, kNone},
      // Exponents.
      Case{"12e6", "12e6", kDecimalExponent, 12000000, 12000000},
      Case{"12E6", "12e6", kDecimalExponent, 12000000, 12000000},
      Case{"1e3", "1e3", kDecimalExponent, 1000, 1000},
      Case{"1e4", "10e3", kDecimalExponent, 10000, 10000},
      Case{"1e0", "1", kDecimalExponent, 1, 1},
      Case{"1e+3", "1e3", kDecimalExponent, 1000, 1000},
      Case{"1e-3", "1e-3", kDecimalExponent, 1, kNone},
      Case{"1e-1", "100e-3", kDecimalExponent, 1, kNone},
      Case{"1e-9", "1e-9", kDecimalExponent, 1, kNone},
      Case{"1.5e3", "1500", kDecimalExponent, 1500, 1500},
      Case{"0.001e3", "1", kDecimalExponent, 1, 1},
      Case{"1e00003", "1e3", kDecimalExponent, 1000, 1000},
      Case{"1e18", "1e18", kDecimalExponent, 1000000000000000000, 1000000000000000000},
      Case{"1e4294967296", "1", kDecimalExponent, 1, 1},
      Case{"1e-4294967296", "1", kDecimalExponent, 1, 1},
      // Canonical form: the largest suffix without a fraction.
      Case{"1024Mi", "1Gi", kBinarySi, 1073741824, 1073741824},
      Case{"1023Mi", "1023Mi", kBinarySi, 1072693248, 1072693248},
      Case{"0.5Gi", "512Mi", kBinarySi, 536870912, kNone},
      Case{".5Gi", "512Mi", kBinarySi, 536870912, kNone},
      Case{"2048Ki", "2Mi", kBinarySi, 2097152, 2097152},
      Case{"1000m", "1", kDecimalSi, 1, kNone},
      Case{"0.1", "100m", kDecimalSi, 1, kNone},
      Case{"1000", "1k", kDecimalSi, 1000, 1000},
      Case{"1500k", "1500k", kDecimalSi, 1500000, 1500000},
      Case{"1000000Ki", "1000000Ki", kBinarySi, 1024000000, 1024000000},
      Case{"10240Gi", "10Ti", kBinarySi, 10995116277760, 10995116277760},
      Case{"1023", "1023", kDecimalSi, 1023, 1023},
      Case{"1024", "1024", kDecimalSi, 1024, 1024},
      Case{"0.25", "250m", kDecimalSi, 1, kNone},
      // Binary, but printed as decimal: below 1024 or not whole.
      Case{"0.5Ki", "512", kBinarySi, 512, kNone},
      Case{"0.001Ki", "1024m", kBinarySi, 2, kNone},
      Case{"1.1Ki", "1126400m", kBinarySi, 1127, kNone},
      Case{"0.1Mi", "104857600m", kBinarySi, 104858, kNone},
      Case{"999.9Ki", "1023897600m", kBinarySi, 1023898, kNone},
      Case{"0.0000001Ki", "102400n", kDecimalSi, 1, kNone},
      // Signs and zeros.
      Case{"0", "0", kDecimalSi, 0, 0},
      Case{"-0", "0", kDecimalSi, 0, 0},
      Case{"0Ki", "0", kBinarySi, 0, 0},
      Case{"0e5", "0", kDecimalExponent, 0, 0},
      Case{"0.0", "0", kDecimalSi, 0, kNone},
      Case{"+1", "1", kDecimalSi, 1, 1},
      Case{"-1", "-1", kDecimalSi, -1, -1},
      Case{"+1Gi", "1Gi", kBinarySi, 1073741824, 1073741824},
      Case{"-1Gi", "-1Gi", kBinarySi, -1073741824, -1073741824},
      Case{"-1.5", "-1500m", kDecimalSi, -2, kNone},
      Case{"-0.5Gi", "-512Mi", kBinarySi, -536870912, kNone},
      Case{"010", "10", kDecimalSi, 10, 10},
      Case{"0001Gi", "1Gi", kBinarySi, 1073741824, 1073741824},
      Case{"1.", "1", kDecimalSi, 1, 1},
      Case{"1.Gi", "1Gi", kBinarySi, 1073741824, 1073741824},
      Case{"1.500", "1500m", kDecimalSi, 2, kNone},
      Case{".5", "500m", kDecimalSi, 1, kNone},
      // Kubernetes takes a missing number for 0.
      Case{"+", "0", kDecimalSi, 0, 0},
      Case{"-", "0", kDecimalSi, 0, 0},
      Case{".", "0", kDecimalSi, 0, 0},
      Case{"k", "0", kDecimalSi, 0, 0},
      Case{"Ki", "0", kBinarySi, 0, 0},
      Case{"e5", "0", kDecimalExponent, 0, 0},
      // Finer than nano: away from zero.
      Case{"0.1n", "1n", kDecimalSi, 1, kNone},
      Case{"1.1n", "2n", kDecimalSi, 1, kNone},
      Case{"1e-10", "1e-9", kDecimalExponent, 1, kNone},
      Case{"1e-99", "1e-9", kDecimalExponent, 1, kNone},
      Case{"0.0000000001", "1n", kDecimalSi, 1, kNone},
      Case{"0.0000000010000000000000000001", "2n", kDecimalSi, 1, kNone},
      Case{"1.0000000001", "1000000001n", kDecimalSi, 2, kNone},
      Case{"0.00000000000000000000000000000001Ei", "1n", kDecimalSi, 1, kNone},
      Case{"0.00000000001Ki", "11n", kDecimalSi, 1, kNone},
      Case{"0n", "0", kDecimalSi, 0, kNone},
      Case{"0.0000000000000000000000", "0", kDecimalSi, 0, kNone},
      // The cap of binary suffixes, and kNone for decimal ones.
      Case{"7Ei", "7Ei", kBinarySi, 8070450532247928832, kNone},
      Case{"8Ei", "9223372036854775807", kBinarySi, 9223372036854775807, kNone},
      Case{"-8Ei", "-9223372036854775807", kBinarySi, -9223372036854775807, kNone},
      Case{"7.9999Ei", "9223256744704315123302400u", kBinarySi, 9223256744704315124, kNone},
      Case{"8191Pi", "8191Pi", kBinarySi, 9222246136947933184, kNone},
      Case{"8192Pi", "9223372036854775807", kBinarySi, 9223372036854775807, kNone},
      Case{"9223372036854775807Ki", "9223372036854775807", kBinarySi, 9223372036854775807, kNone},
      Case{"9007199254740991Ki", "9007199254740991Ki", kBinarySi, 9223372036854774784, kNone},
      Case{"99999999999999999999999Ki", "9223372036854775807", kBinarySi, 9223372036854775807, kNone},
      Case{"9223372036854775807", "9223372036854775807", kDecimalSi, 9223372036854775807, kNone},
      // CEL's isInteger denies what Kubernetes holds as a big decimal, or with a fraction.
      Case{"2000m", "2", kDecimalSi, 2, kNone},
      Case{"1.0", "1", kDecimalSi, 1, kNone},
      Case{"99Ti", "99Ti", kBinarySi, 108851651149824, 108851651149824},
      Case{"100Ti", "100Ti", kBinarySi, 109951162777600, kNone},
      Case{"128Ti", "128Ti", kBinarySi, 140737488355328, kNone},
      Case{"99999Gi", "99999Gi", kBinarySi, 107373108658176, 107373108658176},
      Case{"100000Gi", "100000Gi", kBinarySi, 107374182400000, kNone},
      Case{"99999999Mi", "99999999Mi", kBinarySi, 104857598951424, 104857598951424},
      Case{"100000000Mi", "100000000Mi", kBinarySi, 104857600000000, kNone},
      Case{"99999999999Ki", "99999999999Ki", kBinarySi, 102399999998976, 102399999998976},
      Case{"100000000000Ki", "97656250Mi", kBinarySi, 102400000000000, kNone},
      Case{"999999999999999999", "999999999999999999", kDecimalSi, 999999999999999999, 999999999999999999},
      Case{"1000000000000000000", "1E", kDecimalSi, 1000000000000000000, kNone},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto quantity = Quantity::Parse(c.text);
    ASSERT_TRUE(quantity.has_value()) << quantity.error().message();
    EXPECT_EQ(quantity->ToString(), c.canonical);
    EXPECT_EQ(quantity->format(), c.format);
    EXPECT_EQ(quantity->Value(), c.value);
    EXPECT_EQ(quantity->AsGoInt64(), c.go_int64);
    EXPECT_EQ(Q(quantity->ToString()), *quantity) << "printing must not change the value";
  }
}

TEST(Quantity, AddsAndSubtractsAsKubernetesDoes) {
  struct Case {
    std::string_view a, b, sum, difference;
    QuantityFormat format;
    std::optional<std::int64_t> go_int64;  // Of the sum.
  };
  constexpr std::array kCases{
      Case{"1Gi", "1Gi", "2Gi", "0", kBinarySi, 2147483648},
      Case{"1Gi", "1M", "1074741824", "1072741824", kBinarySi, 1074741824},
      Case{"1", "1Gi", "1073741825", "-1073741823", kDecimalSi, 1073741825},
      Case{"1G", "1Gi", "2073741824", "-73741824", kDecimalSi, 2073741824},
      Case{"1e3", "1", "1001", "999", kDecimalExponent, 1001},
      Case{"-1", "1", "0", "-2", kDecimalSi, 0},
      Case{"1E", "1E", "2E", "0", kDecimalSi, 2000000000000000000},
      // A zero takes the other's format.
      Case{"0", "1Gi", "1Gi", "-1Gi", kBinarySi, 1073741824},
      Case{"0Ki", "5", "5", "-5", kDecimalSi, 5},
      // Fractions.
      Case{"1", "0.5", "1500m", "500m", kDecimalSi, kNone},
      Case{"100m", "900m", "1", "-800m", kDecimalSi, kNone},
      Case{"1k", "1n", "1000000000001n", "999999999999n", kDecimalSi, kNone},
      Case{"1.5Gi", "0.5Gi", "2Gi", "1Gi", kBinarySi, kNone},
      Case{"80Gi", "1.1Ki", "85899347046400m", "85899344793600m", kBinarySi, kNone},
      // A big decimal stays one, but a sum of int64 may be larger than what is read as one.
      Case{"99Ti", "1Ti", "100Ti", "98Ti", kBinarySi, 109951162777600},
      Case{"128Ti", "0", "128Ti", "128Ti", kBinarySi, kNone},
      Case{"0", "128Ti", "128Ti", "-128Ti", kBinarySi, kNone},
      Case{"1", "1Pi", "1125899906842625", "-1125899906842623", kDecimalSi, kNone},
      Case{"2000m", "0", "2", "2", kDecimalSi, kNone},
      // Beyond int64.
      Case{"9223372036854775807", "1", "9223372036854775808", "9223372036854775806", kDecimalSi, kNone},
      Case{"100000000000000000001", "1k", "100000000000000001001", "99999999999999999001", kDecimalSi, kNone},
      Case{"7Ei", "7Ei", "14Ei", "0", kBinarySi, kNone},
      Case{"1", "1e30", "1000000000000000000000000000001", "-999999999999999999999999999999", kDecimalSi, kNone},
      Case{kSixtyDigits, "1", "123456789012345678901234567890123456789012345678901234567891",
           "123456789012345678901234567890123456789012345678901234567889", kDecimalSi, kNone},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message() << c.a << " and " << c.b);
    Quantity sum = Q(c.a);
    sum.Add(Q(c.b));
    EXPECT_EQ(sum.ToString(), c.sum);
    EXPECT_EQ(sum.format(), c.format);
    EXPECT_EQ(sum.AsGoInt64(), c.go_int64);
    Quantity difference = Q(c.a);
    difference.Sub(Q(c.b));
    EXPECT_EQ(difference.ToString(), c.difference);
    difference.Add(Q(c.b));
    EXPECT_EQ(difference, Q(c.a));
  }
}

TEST(Quantity, ComparesByValue) {
  struct Case {
    std::string a, b;
    std::weak_ordering order;
  };
  const std::string sixty(kSixtyDigits);
  const std::array kCases{
      Case{"1Gi", "1024Mi", std::weak_ordering::equivalent},
      Case{"1", "1000m", std::weak_ordering::equivalent},
      Case{"1e3", "1k", std::weak_ordering::equivalent},
      Case{"0", "0Ki", std::weak_ordering::equivalent},
      Case{"0", "0e1000000", std::weak_ordering::equivalent},
      Case{"100000000000000000000", "100E", std::weak_ordering::equivalent},
      Case{"9223372036854775807", "8Ei", std::weak_ordering::equivalent},
      Case{"1e1000000", "10e999999", std::weak_ordering::equivalent},
      Case{sixty + "e3", sixty + "k", std::weak_ordering::equivalent},
      Case{"80Gi", "80G", std::weak_ordering::greater},
      Case{"0", "-0.1n", std::weak_ordering::greater},
      Case{"9223372036854775808", "8Ei", std::weak_ordering::greater},
      Case{"1e1000000", "1", std::weak_ordering::greater},
      Case{sixty, sixty + "m", std::weak_ordering::greater},
      Case{"100000000000000000000.1", "100E", std::weak_ordering::greater},
      Case{"1n", "1u", std::weak_ordering::less},
      Case{"-1", "1", std::weak_ordering::less},
      Case{"-2", "-1", std::weak_ordering::less},
      Case{"-1e1000000", "1n", std::weak_ordering::less},
      Case{"1e1000000", "2e1000000", std::weak_ordering::less},
      Case{"-100000000000000000001", "-100E", std::weak_ordering::less},
      Case{sixty, sixty + ".1", std::weak_ordering::less},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.a + " and " + c.b);
    EXPECT_TRUE((Q(c.a) <=> Q(c.b)) == c.order);
    EXPECT_TRUE((Q(c.b) <=> Q(c.a)) == (0 <=> c.order));
    EXPECT_EQ(Q(c.a) == Q(c.b), c.order == 0);
  }
}

TEST(Quantity, ExplainsWhatItCannotRead) {
  struct Case {
    std::string_view message;
    std::vector<std::string_view> texts;
  };
  const std::array kCases{
      Case{"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
           {"", " ", " 1", "1 ", "1 Gi", "abc", "1.2.3", "1..2", "1Kib", "1b", "1e3Ki", "0x10", "1_000", "1,5", "1Gi\n",
            "1KI", "1g"}},
      Case{"unable to parse quantity's suffix",
           {"--1", "+-1", "1-", "1kk", "1mm", "1i", "1ki", "1K", "12Mi3", "5e", "5e+", "5e-", "5ee3",
            "1e99999999999999999999"}},
      Case{"unable to parse numeric part of quantity", {"Pi", ".Pi", "-.Ei", "+Ei", "e-10", ".e-10"}},
  };
  for (const Case& c : kCases) {
    for (const std::string_view text : c.texts) {
      SCOPED_TRACE(testing::Message() << '"' << text << '"');
      const auto quantity = Quantity::Parse(text);
      ASSERT_FALSE(quantity.has_value()) << quantity->ToString();
      EXPECT_EQ(quantity.error().message(), c.message);
      EXPECT_EQ(quantity.error().code(), "BadQuantity");
      EXPECT_EQ(quantity.error().kind(), ErrorKind::kPermanentConfig);
    }
  }
}

// Go prints 1 for 1000E, and its Value() is noise beyond int64 and for some negative fractions.
TEST(Quantity, IsRightWhereKubernetesIsWrong) {
  struct Case {
    std::string_view text, canonical;
    std::int64_t value;
  };
  constexpr std::array kCases{
      Case{"1000E", "1e21", kMax},
      Case{"1000000000000000000k", "1e21", kMax},
      Case{"-1000E", "-1e21", kMin},
      Case{"1e21", "1e21", kMax},
      Case{"1e1000000", "10e999999", kMax},
      Case{"-1e1000000", "-10e999999", kMin},
      Case{"1.5e-2147483648", "1e-9", 1},
      Case{kSixtyDigits, kSixtyDigits, kMax},
      Case{"9223372036854775808", "9223372036854775808", kMax},
      Case{"9223372036854775807.5", "9223372036854775807500m", kMax},
      Case{"-9223372036854775808", "-9223372036854775808", kMin},
      Case{"-1.1Ki", "-1126400m", -1127},
      Case{"-0.1n", "-1n", -1},
      Case{"-1.9n", "-2n", -1},
      Case{"-8820313922144800134.1m", "-8820313922144800134100u", -8820313922144801},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(Q(c.text).ToString(), c.canonical);
    EXPECT_EQ(Q(c.text).Value(), c.value);
    EXPECT_EQ(Q(Q(c.text).ToString()), Q(c.text));
  }
  Quantity zebi = Q("7Ei");
  for (int doublings = 0; doublings < 10; ++doublings) zebi.Add(zebi);
  EXPECT_EQ(zebi.ToString(), "7168Ei");
}

TEST(Quantity, AsInt64IsExactOrNothing) {
  struct Case {
    std::string_view text;
    std::optional<std::int64_t> integer;
  };
  constexpr std::array kCases{
      Case{"2000m", 2},
      Case{"1.0", 1},
      Case{"128Ti", 140737488355328},
      Case{"1.5Ei", 1729382256910270464},
      Case{"8Ei", kMax},
      Case{"0.0", 0},
      Case{"-1Gi", -1 << 30},
      Case{"-9223372036854775808", kMin},
      Case{"1500m", kNone},
      Case{"1n", kNone},
      Case{"10E", kNone},
      Case{"9223372036854775808", kNone},
      Case{kSixtyDigits, kNone},
  };
  for (const Case& c : kCases) EXPECT_EQ(Q(c.text).AsInt64(), c.integer) << c.text;
}

TEST(Quantity, MilliValueRoundsAwayFromZero) {
  EXPECT_EQ(Q("1.5").MilliValue(), 1500);
  EXPECT_EQ(Q("1u").MilliValue(), 1);
  EXPECT_EQ(Q("-1.0001").MilliValue(), -1001);
  EXPECT_EQ(Q("1Ki").MilliValue(), 1024000);
  EXPECT_EQ(Q("1E").MilliValue(), kMax);
}

TEST(Quantity, NegateTwiceGivesItBack) {
  for (const std::string_view text : {"0", "1Gi", "-1500m", "-9223372036854775808", "123456789012345678901234567890"}) {
    Quantity quantity = Q(text);
    quantity.Negate();
    EXPECT_EQ(quantity.Sign(), -Q(text).Sign()) << text;
    quantity.Negate();
    EXPECT_EQ(quantity, Q(text));
    EXPECT_EQ(quantity.AsInt64(), Q(text).AsInt64());
  }
}

TEST(Quantity, FromNumbers) {
  EXPECT_EQ(Quantity().ToString(), "0");
  EXPECT_EQ(Quantity::FromBytes(std::int64_t{80} << 30).ToString(), "80Gi");
  EXPECT_EQ(Quantity::FromBytes(1500).ToString(), "1500");
  EXPECT_EQ(Quantity::FromBytes(1000).ToString(), "1k");
  EXPECT_EQ(Quantity::FromInteger(2000).ToString(), "2k");
  EXPECT_EQ(Quantity::FromInteger(kMin).ToString(), "-9223372036854775808");
  EXPECT_EQ(Quantity::FromBytes(kMax).AsGoInt64(), kMax);
}

// A claim's CEL expression may hold such numbers: they must cost neither time nor memory.
TEST(Quantity, HugeExponentsAreCheap) {
  Quantity sum = Q("1e2147483647");
  sum.Add(Q("1Gi"));
  EXPECT_EQ(sum, Q("1e2147483647"));
  Quantity bytes = Q("1Gi");
  bytes.Sub(Q("1e2147483647"));
  EXPECT_EQ(bytes.ToString(), "-10e2147483646");
  EXPECT_EQ(bytes.Value(), kMin);
  EXPECT_EQ(Q("1e2147483647").AsInt64(), kNone);
  EXPECT_LT(Q("1e2147483646"), Q("1e2147483647"));
}

// Go multiplies in floating point, so 0.3 is 3 × 0.1.
TEST(Quantity, ApproximateDoubleIsGos) {
  EXPECT_EQ(Q("0.3").AsApproximateDouble(), 0.30000000000000004);
  EXPECT_EQ(Q("1.5Gi").AsApproximateDouble(), 1610612736.0);
  EXPECT_EQ(Q("-1e3").AsApproximateDouble(), -1000.0);
  EXPECT_EQ(Q("0e1000000").AsApproximateDouble(), 0.0);
  EXPECT_EQ(Q("1e1000000").AsApproximateDouble(), std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(Q(kSixtyDigits).AsApproximateDouble(), 1.2345678901234568e59);
}

}  // namespace
}  // namespace tessera
