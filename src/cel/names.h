// cel/names.h: names with dots, which the grammar takes for selections.
#pragma once

#include <string>

#include "cel/ast.h"
#include "cel/function.h"

namespace tessera::cel {

// "a.b.c" for identifiers and selections that spell a name; empty for everything else.
std::string QualifiedName(const Ast& ast, NodeId id);

// The function that a member call really is: optional.of(x) is no method of a variable called optional. Empty: it is a
// method.
std::string NamespacedFunction(const Ast& ast, const Node& call, const FunctionSet& functions);

}  // namespace tessera::cel
