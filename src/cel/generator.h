// cel/generator.h: from tree to program.
#pragma once

#include <span>
#include <string>

#include "cel/ast.h"
#include "cel/checker.h"
#include "cel/function.h"
#include "cel/program.h"
#include "cel/type.h"

namespace tessera::cel {

// Any tree has a program: what the checker would have refused fails when it is evaluated. Operations on constants are
// done here, once; their cost is still charged each time.
// `checked` may be null, when nobody checked it; it only makes costs more exact.
Program Generate(const Ast& ast, const Checked* checked, std::span<const Variable> variables,
                 const FunctionSet& functions);

}  // namespace tessera::cel
