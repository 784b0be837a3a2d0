// base/quantity.h: Kubernetes' resource.Quantity: "16Gi", "500m", "12e6", read, added, compared and printed exactly.
//
// The rules are those of k8s.io/apimachinery/pkg/api/resource, oddities included; quantity_test.cc holds its answers.
// We leave it in three places, where it answers with a wrong number: see Value(), ToString() and Add().
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera {

// How a quantity was written, and so how it is printed.
enum class QuantityFormat : std::uint8_t {
  kDecimalSi,        // 1500m, 12M
  kBinarySi,         // 12Mi
  kDecimalExponent,  // 12e6
};

// A number that is an integer times a power of ten, never finer than nano, with the format it prints in. A plain value:
// 32 bytes, copied without touching the heap unless the integer is wider than 64 bits.
class Quantity {
 public:
  Quantity() = default;  // 0

  // A sign, digits with an optional point, then one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, an exponent such as e-3,
  // or nothing. What is finer than nano is rounded away from zero; a binary suffix caps the value at ±(2^63 - 1).
  // Kubernetes takes a missing number for 0 ("+", "." and "Ki" are valid), and so do we. Errors carry its messages.
  static Result<Quantity> Parse(std::string_view text);

  static Quantity FromInteger(std::int64_t value);  // 1500 prints as 1500, 2000 as 2k.
  static Quantity FromBytes(std::int64_t bytes);    // 1500 prints as 1500, 2048 as 2Ki, 1000 as 1k.

  QuantityFormat format() const { return format_; }
  int Sign() const { return (unscaled_ > 0 ? 1 : 0) - (unscaled_ < 0 ? 1 : 0); }

  // A zero takes the other's format, as in Kubernetes. Exact, except that a term more than 10,000 digits below the
  // other is dropped: "1e2000000000" plus "1" must not cost gigabytes.
  void Add(const Quantity& other);
  void Sub(const Quantity& other);
  void Negate();

  // The value as an integer, rounded away from zero. Beyond int64 it is the nearest int64, where Go's result is noise;
  // Go also rounds some negative fractions the other way.
  std::int64_t Value() const { return RoundedTo(0); }
  std::int64_t MilliValue() const { return RoundedTo(-3); }  // In thousandths.

  // The value when it is an integer that fits.
  std::optional<std::int64_t> AsInt64() const;

  // What CEL's isInteger and asInteger see: Go's AsInt64, which looks at how Kubernetes happens to hold the number. It
  // has nothing for "2000m", "1.0" or "128Ti", although these are integers.
  std::optional<std::int64_t> AsGoInt64() const;

  // For CEL's asApproximateFloat; nothing else should want it. Go's number, or one very near it for what Go holds as a
  // big decimal.
  double AsApproximateDouble() const;

  // The canonical form: the largest suffix that leaves no fraction, so "1024Mi" is 1Gi and "1.5" is 1500m. Binary
  // values that are below 1024 or not whole print with decimal suffixes. Go's String() echoes some texts as they were
  // written ("+1", "1.500"); this is its CanonicalizeBytes(). Go drops the suffix of what is too large for E or Ei
  // ("1000E" becomes 1); here 1000E prints as 1e21 and 2^70 as 1024Ei.
  std::string ToString() const;

  // By value alone: 1Gi equals 1024Mi.
  std::weak_ordering operator<=>(const Quantity& other) const;
  bool operator==(const Quantity& other) const { return (*this <=> other) == 0; }

 private:
  struct Decimal;

  Quantity(std::int64_t unscaled, std::int32_t scale, QuantityFormat format)
      : unscaled_(unscaled), scale_(scale), format_(format) {}

  Decimal ToDecimal() const;
  void Set(Decimal value);  // Keeps the format. Afterwards AsGoInt64() has nothing.
  std::int64_t RoundedTo(int scale) const;

  // The value is unscaled_ × 10^scale_, or *wide_ × 10^scale_ with the sign of unscaled_, which is then 1 or -1.
  std::int64_t unscaled_ = 0;
  std::shared_ptr<const std::string> wide_;  // Decimal digits that do not fit unscaled_; usually absent.
  std::int32_t scale_ = 0;                   // At least -9.
  QuantityFormat format_ = QuantityFormat::kDecimalSi;
  bool go_uses_big_decimal_ = false;  // Kubernetes would hold this as inf.Dec; sticks through arithmetic.
};

// For json/decode.h.
inline bool FromText(std::string_view text, Quantity& out) {
  const auto parsed = Quantity::Parse(text);
  if (parsed) out = *parsed;
  return parsed.has_value();
}
inline std::string ToText(const Quantity& quantity) { return quantity.ToString(); }

}  // namespace tessera
