#include "cel/arithmetic.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tessera::cel {
namespace {

constexpr std::int64_t kNanosInSecond = 1'000'000'000;
constexpr std::int64_t kFirstSecond = -62135596800;  // 0001-01-01T00:00:00Z
constexpr std::int64_t kLastSecond = 253402300799;   // 9999-12-31T23:59:59Z

Value NoOverload() { return Value::Error(kNoSuchOverload); }

Value IntOr(bool overflow, std::int64_t result) {
  return overflow ? Value::Error("integer overflow") : Value::Int(result);
}
Value UintOr(bool overflow, std::uint64_t result) {
  return overflow ? Value::Error("unsigned integer overflow") : Value::Uint(result);
}
Value DurationOr(bool overflow, std::int64_t nanos) {
  return overflow ? Value::Error("duration overflow") : Value::Duration(nanos);
}

Value Shifted(Timestamp time, std::int64_t nanos) {
  std::int64_t seconds = nanos / kNanosInSecond;
  std::int64_t rest = time.nanos + nanos % kNanosInSecond;
  if (rest < 0) {
    rest += kNanosInSecond;
    --seconds;
  } else if (rest >= kNanosInSecond) {
    rest -= kNanosInSecond;
    ++seconds;
  }
  const Timestamp shifted{time.seconds + seconds, static_cast<std::int32_t>(rest)};
  return IsInRange(shifted) ? Value::Time(shifted) : Value::Error("timestamp overflow");
}

Value Between(const Timestamp& later, const Timestamp& earlier) {
  std::int64_t nanos = 0;
  const bool overflow = __builtin_mul_overflow(later.seconds - earlier.seconds, kNanosInSecond, &nanos) ||
                        __builtin_add_overflow(nanos, std::int64_t{later.nanos} - earlier.nanos, &nanos);
  return DurationOr(overflow, nanos);
}

Value AddLists(Context& context, std::span<const Value> a, std::span<const Value> b) {
  const std::span<Value> sum = context.arena.Room<Value>(a.size() + b.size());
  std::ranges::copy(b, std::ranges::copy(a, sum.begin()).out);
  return Value::List(sum);
}

}  // namespace

bool IsInRange(const Timestamp& time) { return time.seconds >= kFirstSecond && time.seconds <= kLastSecond; }

Value Add(Context& context, const Value& a, const Value& b) {
  if (a.Is(Kind::kDuration) && b.Is(Kind::kTimestamp)) return Shifted(b.AsTime(), a.AsNanos());
  if (a.Is(Kind::kTimestamp) && b.Is(Kind::kDuration)) return Shifted(a.AsTime(), b.AsNanos());
  if (a.kind() != b.kind()) return NoOverload();
  std::int64_t sum = 0;
  std::uint64_t unsigned_sum = 0;
  bool overflow = false;
  switch (a.kind()) {
    case Kind::kInt:
      overflow = __builtin_add_overflow(a.AsInt(), b.AsInt(), &sum);
      return IntOr(overflow, sum);
    case Kind::kUint:
      overflow = __builtin_add_overflow(a.AsUint(), b.AsUint(), &unsigned_sum);
      return UintOr(overflow, unsigned_sum);
    case Kind::kDouble:
      return Value::Double(a.AsDouble() + b.AsDouble());
    case Kind::kString:
      return Value::String(context.arena.Concat(a.AsText(), b.AsText()));
    case Kind::kBytes:
      return Value::Bytes(context.arena.Concat(a.AsText(), b.AsText()));
    case Kind::kList:
      return AddLists(context, a.AsList(), b.AsList());
    case Kind::kDuration:
      overflow = __builtin_add_overflow(a.AsNanos(), b.AsNanos(), &sum);
      return DurationOr(overflow, sum);
    default:
      return NoOverload();
  }
}

Value Subtract(const Value& a, const Value& b) {
  if (a.Is(Kind::kTimestamp) && b.Is(Kind::kDuration)) {
    if (b.AsNanos() == std::numeric_limits<std::int64_t>::min()) return Value::Error("timestamp overflow");
    return Shifted(a.AsTime(), -b.AsNanos());
  }
  if (a.kind() != b.kind()) return NoOverload();
  std::int64_t difference = 0;
  std::uint64_t unsigned_difference = 0;
  bool overflow = false;
  switch (a.kind()) {
    case Kind::kInt:
      overflow = __builtin_sub_overflow(a.AsInt(), b.AsInt(), &difference);
      return IntOr(overflow, difference);
    case Kind::kUint:
      overflow = __builtin_sub_overflow(a.AsUint(), b.AsUint(), &unsigned_difference);
      return UintOr(overflow, unsigned_difference);
    case Kind::kDouble:
      return Value::Double(a.AsDouble() - b.AsDouble());
    case Kind::kDuration:
      overflow = __builtin_sub_overflow(a.AsNanos(), b.AsNanos(), &difference);
      return DurationOr(overflow, difference);
    case Kind::kTimestamp:
      return Between(a.AsTime(), b.AsTime());
    default:
      return NoOverload();
  }
}

Value Multiply(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return NoOverload();
  std::int64_t product = 0;
  std::uint64_t unsigned_product = 0;
  bool overflow = false;
  switch (a.kind()) {
    case Kind::kInt:
      overflow = __builtin_mul_overflow(a.AsInt(), b.AsInt(), &product);
      return IntOr(overflow, product);
    case Kind::kUint:
      overflow = __builtin_mul_overflow(a.AsUint(), b.AsUint(), &unsigned_product);
      return UintOr(overflow, unsigned_product);
    case Kind::kDouble:
      return Value::Double(a.AsDouble() * b.AsDouble());
    default:
      return NoOverload();
  }
}

Value Divide(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return NoOverload();
  switch (a.kind()) {
    case Kind::kInt:
      if (b.AsInt() == 0) return Value::Error("division by zero");
      if (a.AsInt() == std::numeric_limits<std::int64_t>::min() && b.AsInt() == -1) return IntOr(true, 0);
      return Value::Int(a.AsInt() / b.AsInt());
    case Kind::kUint:
      return b.AsUint() == 0 ? Value::Error("division by zero") : Value::Uint(a.AsUint() / b.AsUint());
    case Kind::kDouble:
      return Value::Double(a.AsDouble() / b.AsDouble());
    default:
      return NoOverload();
  }
}

Value Modulo(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return NoOverload();
  switch (a.kind()) {
    case Kind::kInt:
      if (b.AsInt() == 0) return Value::Error("modulus by zero");
      if (a.AsInt() == std::numeric_limits<std::int64_t>::min() && b.AsInt() == -1) return IntOr(true, 0);
      return Value::Int(a.AsInt() % b.AsInt());
    case Kind::kUint:
      return b.AsUint() == 0 ? Value::Error("modulus by zero") : Value::Uint(a.AsUint() % b.AsUint());
    default:
      return NoOverload();
  }
}

Value Negate(const Value& a) {
  if (a.Is(Kind::kDouble)) return Value::Double(-a.AsDouble());
  if (!a.Is(Kind::kInt)) return NoOverload();
  std::int64_t negated = 0;
  const bool overflow = __builtin_sub_overflow(std::int64_t{0}, a.AsInt(), &negated);
  return IntOr(overflow, negated);
}

}  // namespace tessera::cel
