#include "cel/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/text.h"
#include "cel/network.h"

namespace tessera::cel {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;
constexpr double kTwoTo64 = 18446744073709551616.0;

constexpr std::array<std::string_view, 22> kTypeNames{
    "error",
    "null_type",
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "type",
    "list",
    "map",
    "optional_type",
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "net.IP",
    "net.CIDR",
    "kubernetes.URL",
    "kubernetes.NamedFormat",
    "kubernetes.DRADevice",
    "pending",
};

template <class T>
Order OrderOf(const T& a, const T& b) {
  if (a < b) return Order::kLess;
  return b < a ? Order::kGreater : Order::kEqual;
}

Order Reverse(Order order) {
  if (order == Order::kLess) return Order::kGreater;
  return order == Order::kGreater ? Order::kLess : order;
}

// cel-go compares with a double as doubles, once the ranges overlap: near 2^63 different integers are equal to it.
Order CompareIntDouble(std::int64_t a, double b) {
  if (std::isnan(b)) return Order::kNotANumber;
  if (b > kTwoTo63) return Order::kLess;
  if (b < -kTwoTo63) return Order::kGreater;
  return OrderOf(static_cast<double>(a), b);
}

Order CompareUintDouble(std::uint64_t a, double b) {
  if (std::isnan(b)) return Order::kNotANumber;
  if (b > kTwoTo64) return Order::kLess;
  if (b < 0) return Order::kGreater;
  return OrderOf(static_cast<double>(a), b);
}

Order CompareDoubles(double a, double b) { return std::isnan(a) || std::isnan(b) ? Order::kNotANumber : OrderOf(a, b); }

Order CompareNumbers(const Value& a, const Value& b) {
  if (a.kind() > b.kind()) return Reverse(CompareNumbers(b, a));
  if (a.Is(Kind::kDouble)) return CompareDoubles(a.AsDouble(), b.AsDouble());
  if (a.Is(Kind::kUint)) {
    return b.Is(Kind::kUint) ? OrderOf(a.AsUint(), b.AsUint()) : CompareUintDouble(a.AsUint(), b.AsDouble());
  }
  if (b.Is(Kind::kInt)) return OrderOf(a.AsInt(), b.AsInt());
  if (b.Is(Kind::kDouble)) return CompareIntDouble(a.AsInt(), b.AsDouble());
  return a.AsInt() < 0 ? Order::kLess : OrderOf(a.AsUint(), b.AsUint());
}

Equality From(bool equal) { return equal ? Equality::kEqual : Equality::kUnequal; }

Equality EqualLists(Arena& arena, std::span<const Value> a, std::span<const Value> b) {
  if (a.size() != b.size()) return Equality::kUnequal;
  for (std::size_t i = 0; i < a.size(); ++i) {
    arena.Work(1);
    // Elements that refuse to be compared do not make lists unequal: cel-go looks only for a plain "false".
    if (Equal(arena, a[i], b[i]) == Equality::kUnequal) return Equality::kUnequal;
  }
  return Equality::kEqual;
}

Equality EqualMaps(Arena& arena, const MapView& a, const MapView& b) {
  if (a.Size() != b.Size()) return Equality::kUnequal;
  for (std::size_t i = 0; i < a.Size(); ++i) {
    arena.Work(1);
    const auto [key, value] = a.At(arena, i);
    const auto other = b.Find(arena, key);
    if (!other || Equal(arena, value, *other) == Equality::kUnequal) return Equality::kUnequal;
  }
  return Equality::kEqual;
}

Equality EqualOptionals(Arena& arena, const Value* a, const Value* b) {
  if (a == nullptr || b == nullptr) return From(a == b);
  return Equal(arena, *a, *b);
}

// Whether values of this kind answer "no such overload" instead of "unequal" to another kind.
bool RefusesOtherKinds(Kind kind) { return kind >= Kind::kQuantity && kind <= Kind::kFormat; }

}  // namespace

Value Value::Double(double value) { return {Kind::kDouble, std::bit_cast<std::int64_t>(value)}; }
double Value::AsDouble() const { return std::bit_cast<double>(number_); }

Value Value::Time(Timestamp time) {
  Value value(Kind::kTimestamp, time.seconds);
  value.size_ = static_cast<std::size_t>(time.nanos);
  return value;
}

Timestamp Value::AsTime() const { return {number_, static_cast<std::int32_t>(size_)}; }

std::string_view TypeName(Kind kind) { return kTypeNames[static_cast<std::size_t>(kind)]; }
std::string_view TypeName(const Value& value) { return TypeName(value.kind()); }

Equality Equal(Arena& arena, const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return From(CompareNumbers(a, b) == Order::kEqual);
  if (a.kind() != b.kind()) {
    const bool null = a.Is(Kind::kNull) || b.Is(Kind::kNull);
    return !null && RefusesOtherKinds(a.kind()) ? Equality::kNoOverload : Equality::kUnequal;
  }
  switch (a.kind()) {
    case Kind::kNull:
      return Equality::kEqual;
    case Kind::kBool:
      return From(a.AsBool() == b.AsBool());
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      arena.Work(std::min(a.AsText().size(), b.AsText().size()) / 64);
      return From(a.AsText() == b.AsText());
    case Kind::kTimestamp:
      return From(a.AsTime() == b.AsTime());
    case Kind::kDuration:
      return From(a.AsNanos() == b.AsNanos());
    case Kind::kList:
      return EqualLists(arena, a.AsList(), b.AsList());
    case Kind::kMap:
      return EqualMaps(arena, a.AsMap(), b.AsMap());
    case Kind::kOptional:
      return EqualOptionals(arena, a.AsOptional(), b.AsOptional());
    case Kind::kQuantity:
      return b.IsSum() ? Equality::kNoOverload : From(a.AsQuantity() == b.AsQuantity());
    case Kind::kSemver:
      return From(a.AsSemver() == b.AsSemver());
    case Kind::kIp:
      return From(a.AsIp() == b.AsIp());
    case Kind::kCidr:
      return From(a.AsCidr() == b.AsCidr());
    case Kind::kUrl:
      return From(a.AsUrl().ToString() == b.AsUrl().ToString());
    case Kind::kFormat:
      return From(&a.AsFormat() == &b.AsFormat());
    default:
      return Equality::kNoOverload;
  }
}

Order Compare(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return CompareNumbers(a, b);
  if (a.kind() != b.kind()) return Order::kNoOverload;
  switch (a.kind()) {
    case Kind::kBool:
      return OrderOf(a.AsBool(), b.AsBool());
    case Kind::kString:
    case Kind::kBytes:
      return OrderOf(a.AsText(), b.AsText());
    case Kind::kTimestamp:
      return OrderOf(a.AsTime(), b.AsTime());
    case Kind::kDuration:
      return OrderOf(a.AsNanos(), b.AsNanos());
    default:
      return Order::kNoOverload;
  }
}

std::optional<std::int64_t> ExactInt(const Value& number) {
  if (number.Is(Kind::kInt)) return number.AsInt();
  if (number.Is(Kind::kUint) && number.AsInt() >= 0) return number.AsInt();
  if (!number.Is(Kind::kDouble)) return std::nullopt;
  const double value = number.AsDouble();
  const bool fits = value >= -kTwoTo63 && value < kTwoTo63 && value == std::trunc(value);
  return fits ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
}

std::string ForMessage(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
      return value.AsBool() ? "true" : "false";
    case Kind::kInt:
      return Format("{}", value.AsInt());
    case Kind::kUint:
      return Format("{}", value.AsUint());
    case Kind::kDouble:
      return Format("{}", value.AsDouble());
    case Kind::kNull:
      return "null";
    case Kind::kString:
    case Kind::kType:
      return std::string(value.AsText());
    default:
      return std::string(TypeName(value));
  }
}

}  // namespace tessera::cel
