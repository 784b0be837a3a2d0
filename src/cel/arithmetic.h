// cel/arithmetic.h: + - * / % on values, with CEL's overflow rules.
#pragma once

#include <string_view>

#include "cel/context.h"
#include "cel/value.h"

namespace tessera::cel {

// Operands of kinds that do not go together give the error "no such overload".
Value Add(Context& context, const Value& a, const Value& b);
Value Subtract(const Value& a, const Value& b);
Value Multiply(const Value& a, const Value& b);
Value Divide(const Value& a, const Value& b);
Value Modulo(const Value& a, const Value& b);
Value Negate(const Value& a);

inline constexpr std::string_view kNoSuchOverload = "no such overload";

// Whether the timestamp is one that CEL has: the years 1 to 9999.
bool IsInRange(const Timestamp& time);

}  // namespace tessera::cel
