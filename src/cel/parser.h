// cel/parser.h: text to tree, macros recognised.
#pragma once

#include <expected>
#include <string_view>
#include <vector>

#include "cel/ast.h"
#include "cel/source.h"

namespace tessera::cel {

struct ParserOptions {
  bool two_variable_macros = true;  // all(k, v, p), transformMap …: Kubernetes 1.32.
  bool sort_by = true;              // cel-go's lists extension: Kubernetes 1.34.
  bool escaped_names = true;        // e.`a-b`: Kubernetes 1.37.
};

// Nested deeper than Kubernetes' parser goes (250 expressions within each other), or so that our tree would be deeper
// than 1,000, an expression is refused.
std::expected<Ast, std::vector<Problem>> Parse(std::string_view expression, const ParserOptions& options = {});

}  // namespace tessera::cel
