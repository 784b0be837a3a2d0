// cel/validate.h: what Kubernetes refuses although the types fit: literals that can only fail, formats that do not fit
// what they print, and mixed lists.
#pragma once

#include <span>
#include <vector>

#include "cel/ast.h"
#include "cel/source.h"
#include "cel/type.h"

namespace tessera::cel {

// `types` are the checker's, by node. Mixed lists and maps are looked for only when `homogeneous`.
std::vector<Problem> Validate(const Ast& ast, std::span<const Type> types, bool homogeneous);

}  // namespace tessera::cel
