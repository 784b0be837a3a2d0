// cel/macros.h: calls that are not calls: has(), cel.bind(), all(), map() and their kin.
#pragma once

#include <expected>

#include "cel/ast.h"
#include "cel/parser.h"
#include "cel/source.h"

namespace tessera::cel {

// The node that `call` stands for: a macro's when name and number of arguments are one's, otherwise the call itself.
// The children must be in `ast` already.
std::expected<Node, Problem> ExpandMacro(Node call, const Ast& ast, const ParserOptions& options);

}  // namespace tessera::cel
