// cel/string_format.h: "%s has %d".format([...]).
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "cel/arena.h"
#include "cel/value.h"

namespace tessera::cel {

// The text, or why there is none: as version 2 of cel-go's strings library has it, which Kubernetes 1.34 to 1.37 uses, and
// not as cel-spec. %f has commas ("1,234.50"), %e a raised exponent ("1.234500×10⁰³") and takes its precision for a
// width, and texts in lists and maps are quoted.
std::expected<std::string, std::string> FormatString(Arena& arena, std::string_view pattern,
                                                     std::span<const Value> arguments);

}  // namespace tessera::cel
