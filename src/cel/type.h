// cel/type.h: what the checker knows about a value before there is one.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cel/value.h"

namespace tessera::cel {

struct TypeNode;
using Type = const TypeNode*;  // Owned by a TypePool, or one of the simple types, which live forever.

enum class TypeForm : std::uint8_t {
  kConcrete,   // `kind`, with `arguments` for list, map, optional and type
  kDyn,        // Anything; every use of it compiles.
  kAny,        // As dyn, but nothing may be iterated: what Kubernetes declares for attribute values.
  kParameter,  // `name`: stands for one type throughout an overload
  kError,      // Something below was wrong already; silences what would follow from it.
};

struct TypeNode {
  TypeForm form = TypeForm::kConcrete;
  Kind kind = Kind::kNull;
  std::string name;
  std::vector<Type> arguments;
};

Type SimpleType(Kind kind);  // A kind without arguments.
Type DynType();
Type AnyType();
Type ErrorType();

struct Variable {
  std::string name;  // May have dots: "x.y".
  Type type = nullptr;
};

class TypePool {
 public:
  Type List(Type element) { return Add({.kind = Kind::kList, .arguments = {element}}); }
  Type Map(Type key, Type value) { return Add({.kind = Kind::kMap, .arguments = {key, value}}); }
  Type Optional(Type content) { return Add({.kind = Kind::kOptional, .arguments = {content}}); }
  Type TypeOf(Type type) { return Add({.kind = Kind::kType, .arguments = {type}}); }
  Type Parameter(std::string name) { return Add({.form = TypeForm::kParameter, .name = std::move(name)}); }
  Type Rebuild(Type type, std::vector<Type> arguments);  // The same kind with other arguments.

 private:
  Type Add(TypeNode node) { return &nodes_.emplace_back(std::move(node)); }

  std::deque<TypeNode> nodes_;  // Pointers to its elements stay valid.
};

// "list(int)", "map(string, dyn)", "optional_type(string)", "kubernetes.Quantity".
std::string ToString(Type type);

// From our own notation: "list<A>", "map<string, dyn>", "Quantity". The text must be right: it is ours.
Type ParseType(std::string_view text, TypePool& pool);

}  // namespace tessera::cel
