// optional_type. or() and orValue() are declared here for the checker; the evaluator does them, because they are lazy.
#include <algorithm>
#include <cstdint>

#include "cel/arithmetic.h"
#include "cel/context.h"
#include "cel/library.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

bool IsZero(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !value.AsBool();
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDuration:
      return value.AsInt() == 0;
    case Kind::kDouble:
      return value.AsDouble() == 0;
    case Kind::kString:
    case Kind::kBytes:
      return value.AsText().empty();
    case Kind::kList:
      return value.AsList().empty();
    case Kind::kMap:
      return value.AsMap().Size() == 0;
    case Kind::kOptional:
      return value.AsOptional() == nullptr;
    case Kind::kTimestamp:
      return value.AsTime() == Timestamp{};
    default:
      return false;
  }
}

Value Of(Context& context, Arguments a) { return context.Some(a[0]); }
Value OfNonZero(Context& context, Arguments a) { return IsZero(a[0]) ? Value::None() : context.Some(a[0]); }
Value None(Context& /*context*/, Arguments /*a*/) { return Value::None(); }
Value HasValue(Context& /*context*/, Arguments a) { return Value::Bool(a[0].AsOptional() != nullptr); }
Value Content(Context& /*context*/, Arguments a) {
  return a[0].AsOptional() == nullptr ? Value::Error("optional.none() dereference") : *a[0].AsOptional();
}

Value OrValue(Context& /*context*/, Arguments a) { return a[0].AsOptional() == nullptr ? a[1] : *a[0].AsOptional(); }
Value Or(Context& /*context*/, Arguments a) { return a[0].AsOptional() == nullptr ? a[1] : a[0]; }

Value Unwrap(Context& context, Arguments a) {
  const auto list = a[0].AsList();
  const std::span<Value> items = context.arena.Room<Value>(list.size());
  std::size_t count = 0;
  for (const Value& item : list) {
    if (!item.Is(Kind::kOptional)) return Value::Error(kNoSuchOverload);
    if (item.AsOptional() != nullptr) items[count++] = *item.AsOptional();
  }
  return Value::List(items.first(count));
}

Value First(Context& context, Arguments a) {
  return a[0].AsList().empty() ? Value::None() : context.Some(a[0].AsList().front());
}
Value Last(Context& context, Arguments a) {
  return a[0].AsList().empty() ? Value::None() : context.Some(a[0].AsList().back());
}

constexpr OverloadSpec kOverloads[]{
    {"optional.of", Style::kGlobal, "(A) optional<A>", Of},
    {"optional.ofNonZeroValue", Style::kGlobal, "(A) optional<A>", OfNonZero},
    {"optional.none", Style::kGlobal, "() optional<A>", None},
    {"hasValue", Style::kMethod, "(optional<A>) bool", HasValue},
    {"value", Style::kMethod, "(optional<A>) A", Content},
    {"or", Style::kMethod, "(optional<A>, optional<A>) optional<A>", Or},
    {"orValue", Style::kMethod, "(optional<A>, A) A", OrValue},
    {"optional.unwrap", Style::kGlobal, "(list<optional<A>>) list<A>", Unwrap},
    {"unwrapOpt", Style::kMethod, "(list<optional<A>>) list<A>", Unwrap},
    {"first", Style::kMethod, "(list<A>) optional<A>", First},
    {"last", Style::kMethod, "(list<A>) optional<A>", Last},
};

}  // namespace

std::span<const OverloadSpec> OptionalFunctions() { return kOverloads; }

}  // namespace tessera::cel
