// cel/checker.h: finds before evaluation what can only go wrong, and which type each part has.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cel/ast.h"
#include "cel/function.h"
#include "cel/source.h"
#include "cel/type.h"

namespace tessera::cel {

struct CheckerOptions {
  bool homogeneous_literals = true;        // [1, 'a'] is an error, as in Kubernetes; otherwise a list of dyn.
  bool dyn_attributes = true;              // device.attributes holds dyn, not any.
  bool allow_multiple_allocations = true;  // device has this field.
};

struct Checked {
  std::vector<Type> types;         // By node; null for nodes that are only names, such as a macro's variable.
  std::vector<bool> ambiguous;     // By node: a call that several overloads may serve, because of a dyn.
  Type result = nullptr;           // Of the whole expression.
  std::unique_ptr<TypePool> pool;  // Owns the types.
};

// Everything that is wrong, in the order of the text. Messages are cel-go's; hints are ours.
std::expected<Checked, std::vector<Problem>> Check(const Ast& ast, std::span<const Variable> variables,
                                                   const FunctionSet& functions, const CheckerOptions& options = {});

}  // namespace tessera::cel
