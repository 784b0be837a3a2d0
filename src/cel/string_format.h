// cel/string_format.h: "%s has %d".format([...]).
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "cel/arena.h"
#include "cel/value.h"

namespace tessera::cel {

// The text, or why there is none. As cel-spec has it. Kubernetes 1.34 to 1.37 has an older form, which differs in corners:
// it quotes texts in lists, and %f takes no integers.
std::expected<std::string, std::string> FormatString(Arena& arena, std::string_view pattern,
                                                     std::span<const Value> arguments);

}  // namespace tessera::cel
