// cel/format_check.h: "%d".format(["x"]) can only fail, and is refused before it does.
#pragma once

#include <optional>
#include <span>

#include "cel/ast.h"
#include "cel/source.h"
#include "cel/type.h"

namespace tessera::cel {

// What is wrong with a call, when pattern and list are literals; nothing for any other node. `types` are the checker's.
std::optional<Problem> CheckFormatCall(const Ast& ast, std::span<const Type> types, const Node& node);

}  // namespace tessera::cel
