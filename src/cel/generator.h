// cel/generator.h: from tree to program.
#pragma once

#include <span>
#include <string>

#include "cel/ast.h"
#include "cel/function.h"
#include "cel/program.h"
#include "cel/type.h"

namespace tessera::cel {

struct Variable {
  std::string name;  // May have dots: "x.y".
  Type type = nullptr;
};

// Any tree has a program: what the checker would have refused fails when it is evaluated. Operations on constants are
// done here, once; their cost is still charged each time.
Program Generate(const Ast& ast, std::span<const Variable> variables, const FunctionSet& functions);

// "a.b.c" for identifiers and selections that spell a name; empty for everything else.
std::string QualifiedName(const Ast& ast, NodeId id);

// The function that a member call really is: optional.of(x) is no method of a variable called optional. Empty: it is a
// method.
std::string NamespacedFunction(const Ast& ast, const Node& call, const FunctionSet& functions);

}  // namespace tessera::cel
