// cel/access.h: looking into values: e.f, e[k], has(e.f), e.?f, x in y.
#pragma once

#include <string_view>

#include "cel/context.h"
#include "cel/value.h"

namespace tessera::cel {

// All look through an optional and give an optional then; where there is nothing it is none, not an error.
Value Select(Context& context, const Value& operand, const Value& field);
Value Index(Context& context, const Value& operand, const Value& key);
Value OptionalSelect(Context& context, const Value& operand, const Value& field);
Value OptionalIndex(Context& context, const Value& operand, const Value& key);
Value Has(Context& context, const Value& operand, const Value& field);
Value In(Context& context, const Value& needle, const Value& haystack);

}  // namespace tessera::cel
