#include "base/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <ranges>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

constexpr int kNano = -9;
constexpr int kExa = 18;
constexpr std::int64_t kMaxSpread = 10'000;  // Digits between two terms of a sum; see Add().
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

constexpr std::string_view kBadForm =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kBadNumber = "unable to parse numeric part of quantity";
constexpr std::string_view kBadSuffix = "unable to parse quantity's suffix";

// By power of 1000 from nano on, and by power of 1024.
constexpr std::array<std::string_view, 10> kDecimalSuffixes{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
constexpr std::array<std::string_view, 7> kBinarySuffixes{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

std::unexpected<Error> BadQuantity(std::string_view message) {
  return BadConfig("BadQuantity", std::string(message), "write a number and a suffix, such as 500m, 2 or 16Gi");
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSuffixLetter(char c) { return std::string_view("eEinumkKMGTP").contains(c); }

// Cuts from `text` the leading characters that are `wanted`.
std::string_view Take(std::string_view& text, auto wanted) {
  const auto end = std::ranges::find_if_not(text, wanted);
  const std::string_view taken(text.begin(), end);
  text.remove_prefix(taken.size());
  return taken;
}

bool TakeSign(std::string_view& text) {
  if (!text.starts_with('-') && !text.starts_with('+')) return false;
  const bool negative = text.front() == '-';
  text.remove_prefix(1);
  return negative;
}

struct Parts {
  bool negative = false;
  bool has_digits = false;
  std::string_view whole;  // Without leading zeros.
  std::string_view fraction;
  std::string_view suffix;
};

Result<Parts> SplitText(std::string_view text) {
  if (text.empty()) return BadQuantity(kBadForm);
  Parts parts;
  parts.negative = TakeSign(text);
  const std::string_view zeros = Take(text, [](char c) { return c == '0'; });
  parts.whole = Take(text, IsDigit);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    parts.fraction = Take(text, IsDigit);
  }
  parts.has_digits = !zeros.empty() || !parts.whole.empty() || !parts.fraction.empty();
  parts.suffix = text;
  Take(text, IsSuffixLetter);
  TakeSign(text);
  Take(text, IsDigit);
  if (!text.empty()) return BadQuantity(kBadForm);
  return parts;
}

// What a suffix multiplies by: 10^exponent, and 1024^power.
struct Unit {
  std::int32_t exponent = 0;
  int power = 0;
  QuantityFormat format = QuantityFormat::kDecimalSi;
};

std::optional<Unit> ReadSuffix(std::string_view suffix) {
  if (const auto at = std::ranges::find(kDecimalSuffixes, suffix); at != kDecimalSuffixes.end()) {
    return Unit{.exponent = static_cast<std::int32_t>(at - kDecimalSuffixes.begin()) * 3 + kNano};
  }
  if (const auto at = std::ranges::find(kBinarySuffixes, suffix); at != kBinarySuffixes.end()) {
    return Unit{.power = static_cast<int>(at - kBinarySuffixes.begin()), .format = QuantityFormat::kBinarySi};
  }
  if (!suffix.starts_with('e') && !suffix.starts_with('E')) return std::nullopt;
  suffix.remove_prefix(1);
  if (suffix.starts_with('+')) suffix.remove_prefix(1);
  const auto exponent = ParseNumber<std::int64_t>(suffix);
  if (!exponent) return std::nullopt;
  // Kubernetes keeps the low 32 bits, so "1e4294967296" is 1.
  return Unit{.exponent = static_cast<std::int32_t>(*exponent), .format = QuantityFormat::kDecimalExponent};
}

// Whether Kubernetes reads the number straight into an int64; otherwise it becomes an inf.Dec, which CEL's isInteger
// denies even when it would fit. The bounds are Kubernetes' own: it reckons three digits for each power of 1024.
bool TakesFastPath(const Parts& parts, const Unit& unit) {
  const auto digits = static_cast<std::int64_t>(std::max<std::size_t>(parts.whole.size(), 1));
  const auto places = static_cast<std::int64_t>(parts.fraction.size());
  if (unit.format == QuantityFormat::kBinarySi) return places == 0 && digits + std::int64_t{3} * unit.power <= 14;
  return digits + places <= 18 && unit.exponent - places >= kNano;
}

// value × 10^power, when it fits.
std::optional<std::int64_t> Scaled(std::int64_t value, std::int64_t power) {
  if (value == 0) return 0;
  if (power > 18) return std::nullopt;
  for (; power > 0; --power) {
    if (__builtin_mul_overflow(value, 10, &value)) return std::nullopt;
  }
  return value;
}

// Arithmetic on magnitudes written as decimal digits, most significant first, without leading zeros; "" is zero.

void StripLeadingZeros(std::string& digits) { digits.erase(0, digits.find_first_not_of('0')); }

void MultiplyBy1024(std::string& digits) {
  int carry = 0;
  for (char& c : digits | std::views::reverse) {
    carry += (c - '0') * 1024;
    c = static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  if (carry > 0) digits.insert(0, std::to_string(carry));
}

// The quotient, when nothing remains.
std::optional<std::string> DividedBy1024(std::string digits) {
  int rest = 0;
  for (char& c : digits) {
    rest = rest * 10 + (c - '0');
    c = static_cast<char>('0' + rest / 1024);
    rest %= 1024;
  }
  if (rest != 0) return std::nullopt;
  StripLeadingZeros(digits);
  return digits;
}

// a + b, or a - b where a is not the smaller one.
std::string Combine(std::string a, std::string b, int sign) {
  const std::size_t width = std::max(a.size(), b.size());
  a.insert(0, width - a.size(), '0');
  b.insert(0, width - b.size(), '0');
  int carry = 0;
  for (std::size_t i = width; i-- > 0;) {
    const int digit = (a[i] - '0') + sign * (b[i] - '0') + carry;
    carry = digit < 0 ? -1 : digit / 10;
    a[i] = static_cast<char>('0' + digit - 10 * carry);
  }
  if (carry > 0) a.insert(0, 1, '1');
  StripLeadingZeros(a);
  return a;
}

}  // namespace

// A value on the slow path: digits × 10^scale, below zero when negative.
struct Quantity::Decimal {
  std::string digits;
  std::int64_t scale = 0;
  bool negative = false;

  std::int64_t Magnitude() const;                              // The power of ten just above the value.
  std::weak_ordering CompareSize(const Decimal& other) const;  // Signs aside; neither may be zero.
  void RoundAwayFromZero(int to_scale);
  void Expand(std::int64_t to_scale);        // Writes out the zeros that a larger scale stands for.
  void Reduce();                             // Drops zeros after the decimal point.
  static Decimal Sum(Decimal a, Decimal b);  // Neither may be zero.
  std::string PrintDecimal(QuantityFormat format) &&;
  std::string PrintBinary() &&;  // Of an integer.
};

std::int64_t Quantity::Decimal::Magnitude() const { return static_cast<std::int64_t>(digits.size()) + scale; }

std::weak_ordering Quantity::Decimal::CompareSize(const Decimal& other) const {
  if (Magnitude() != other.Magnitude()) return Magnitude() <=> other.Magnitude();
  const std::size_t common = std::min(digits.size(), other.digits.size());
  if (const int leading = digits.compare(0, common, other.digits, 0, common); leading != 0) return leading <=> 0;
  const auto has_more = [&](const std::string& text) { return text.find_first_not_of('0', common) != text.npos; };
  return has_more(digits) <=> has_more(other.digits);
}

void Quantity::Decimal::RoundAwayFromZero(int to_scale) {
  if (scale >= to_scale) return;
  const auto length = static_cast<std::int64_t>(digits.size());
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(length - (to_scale - scale), 0));
  const bool inexact = digits.find_first_not_of('0', kept) != std::string::npos;
  digits.resize(kept);
  if (inexact) digits = Combine(std::move(digits), "1", 1);
  scale = to_scale;
}

void Quantity::Decimal::Expand(std::int64_t to_scale) {
  if (scale <= to_scale) return;
  digits.append(static_cast<std::size_t>(scale - to_scale), '0');
  scale = to_scale;
}

void Quantity::Decimal::Reduce() {
  for (; scale < 0 && digits.ends_with('0'); ++scale) digits.pop_back();
}

Quantity::Decimal Quantity::Decimal::Sum(Decimal a, Decimal b) {
  if (a.CompareSize(b) < 0) std::swap(a, b);
  if (a.Magnitude() - b.Magnitude() > kMaxSpread) return a;
  a.Expand(b.scale);
  b.Expand(a.scale);
  a.digits = Combine(std::move(a.digits), std::move(b.digits), a.negative == b.negative ? 1 : -1);
  return a;
}

std::string Quantity::Decimal::PrintDecimal(QuantityFormat format) && {
  for (; digits.ends_with('0'); ++scale) digits.pop_back();
  for (; scale % 3 != 0; --scale) digits.push_back('0');
  if (format != QuantityFormat::kDecimalExponent && scale <= kExa) {
    return digits.append(kDecimalSuffixes[static_cast<std::size_t>((scale - kNano) / 3)]);
  }
  return scale == 0 ? digits : Format("{}e{}", digits, scale);
}

std::string Quantity::Decimal::PrintBinary() && {
  Expand(0);
  std::size_t power = 0;
  for (; power + 1 < kBinarySuffixes.size(); ++power) {
    auto quotient = DividedBy1024(digits);
    if (!quotient) break;
    digits = *std::move(quotient);
  }
  return digits.append(kBinarySuffixes[power]);
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  TESSERA_ASSIGN(const Parts parts, SplitText(text));
  const auto unit = ReadSuffix(parts.suffix);
  if (!unit) return BadQuantity(kBadSuffix);

  std::string digits = std::string(parts.whole).append(parts.fraction);
  const std::int64_t scale = unit->exponent - static_cast<std::int64_t>(parts.fraction.size());
  if (TakesFastPath(parts, *unit)) {
    const std::int64_t number = ParseNumber<std::int64_t>(digits).value_or(0) << (10 * unit->power);
    return Quantity(parts.negative ? -number : number, static_cast<std::int32_t>(scale), unit->format);
  }

  if (!parts.has_digits) return BadQuantity(kBadNumber);
  StripLeadingZeros(digits);
  for (int i = 0; i < unit->power; ++i) MultiplyBy1024(digits);
  Decimal value{.digits = std::move(digits), .scale = scale, .negative = parts.negative};
  value.RoundAwayFromZero(kNano);

  Quantity quantity(0, 0, unit->format);
  quantity.Set(std::move(value));
  if (unit->format != QuantityFormat::kBinarySi || quantity.Sign() == 0) return quantity;
  if (quantity > FromInteger(kMax)) quantity.Set({.digits = std::to_string(kMax)});
  if (quantity < FromInteger(-kMax)) quantity.Set({.digits = std::to_string(kMax), .negative = true});
  if (FromInteger(-1) < quantity && quantity < FromInteger(1)) quantity.format_ = QuantityFormat::kDecimalSi;
  return quantity;
}

Quantity Quantity::FromInteger(std::int64_t value) { return Quantity(value, 0, QuantityFormat::kDecimalSi); }

Quantity Quantity::FromBytes(std::int64_t bytes) { return Quantity(bytes, 0, QuantityFormat::kBinarySi); }

Quantity::Decimal Quantity::ToDecimal() const {
  Decimal value{.digits = {}, .scale = scale_, .negative = unscaled_ < 0};
  if (wide_) {
    value.digits = *wide_;
  } else if (unscaled_ != 0) {
    value.digits = std::to_string(unscaled_).substr(value.negative ? 1 : 0);
  }
  return value;
}

void Quantity::Set(Decimal value) {
  value.Reduce();
  go_uses_big_decimal_ = true;
  wide_ = nullptr;
  scale_ = static_cast<std::int32_t>(value.scale);
  if (value.digits.empty()) {
    unscaled_ = 0;
  } else if (const auto narrow = ParseNumber<std::int64_t>((value.negative ? "-" : "") + value.digits)) {
    unscaled_ = *narrow;
  } else {
    unscaled_ = value.negative ? -1 : 1;
    wide_ = std::make_shared<const std::string>(std::move(value.digits));
  }
}

void Quantity::Add(const Quantity& other) {
  const bool big = go_uses_big_decimal_ || other.go_uses_big_decimal_;
  if (Sign() == 0) {
    *this = other;
  } else if (other.Sign() != 0) {
    const std::int64_t scale = std::min(scale_, other.scale_);
    const auto a = wide_ ? std::nullopt : Scaled(unscaled_, std::int64_t{scale_} - scale);
    const auto b = other.wide_ ? std::nullopt : Scaled(other.unscaled_, std::int64_t{other.scale_} - scale);
    std::int64_t sum = 0;
    if (a && b && !__builtin_add_overflow(*a, *b, &sum)) {
      unscaled_ = sum;
      scale_ = static_cast<std::int32_t>(scale);
    } else {
      Set(Decimal::Sum(ToDecimal(), other.ToDecimal()));
    }
  }
  go_uses_big_decimal_ = go_uses_big_decimal_ || big;
}

void Quantity::Sub(const Quantity& other) {
  Quantity negated = other;
  negated.Negate();
  Add(negated);
}

void Quantity::Negate() {
  if (!wide_ && unscaled_ != kMin) {
    unscaled_ = -unscaled_;
    return;
  }
  Decimal value = ToDecimal();
  value.negative = !value.negative;
  Set(std::move(value));
}

std::int64_t Quantity::RoundedTo(int scale) const {
  const std::int64_t limit = Sign() < 0 ? kMin : kMax;
  if (Sign() == 0) return 0;
  const std::int64_t power = std::int64_t{scale_} - scale;  // The scale may be anything an int32 holds.
  if (!wide_ && power >= 0) return Scaled(unscaled_, power).value_or(limit);
  Decimal value = ToDecimal();
  value.RoundAwayFromZero(scale);
  if (value.Magnitude() - scale > 19) return limit;
  value.Expand(scale);
  return ParseNumber<std::int64_t>((value.negative ? "-" : "") + value.digits).value_or(limit);
}

std::optional<std::int64_t> Quantity::AsInt64() const {
  if (wide_) return std::nullopt;  // Set() has found that it does not fit.
  if (scale_ >= 0) return Scaled(unscaled_, scale_);
  Decimal value = ToDecimal();
  value.Reduce();
  if (value.scale < 0 && !value.digits.empty()) return std::nullopt;
  return Value();
}

std::optional<std::int64_t> Quantity::AsGoInt64() const {
  if (go_uses_big_decimal_ || scale_ < 0) return std::nullopt;
  return Scaled(unscaled_, scale_);
}

double Quantity::AsApproximateDouble() const {
  if (Sign() == 0) return 0;
  const double number = wide_ ? Sign() * std::strtod(wide_->c_str(), nullptr) : static_cast<double>(unscaled_);
  return number * std::pow(10.0, scale_);
}

std::string Quantity::ToString() const {
  if (Sign() == 0) return "0";
  Decimal value = ToDecimal();
  value.Reduce();
  const bool binary = format_ == QuantityFormat::kBinarySi && value.scale >= 0 && value.scale <= kMaxSpread &&
                      value.CompareSize({.digits = "1024"}) >= 0;
  const std::string_view sign = value.negative ? "-" : "";
  return Format("{}{}", sign, binary ? std::move(value).PrintBinary() : std::move(value).PrintDecimal(format_));
}

std::weak_ordering Quantity::operator<=>(const Quantity& other) const {
  if (Sign() != other.Sign() || Sign() == 0) return Sign() <=> other.Sign();
  if (!wide_ && !other.wide_ && scale_ == other.scale_) return unscaled_ <=> other.unscaled_;
  const auto size = ToDecimal().CompareSize(other.ToDecimal());
  return Sign() > 0 ? size : 0 <=> size;
}

}  // namespace tessera
