// cel/substitution.h: what the type parameters of overloads stand for, found while an expression is checked.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cel/type.h"

namespace tessera::cel {

// Follows cel-go's rules: assignment works in both directions for dyn, and a parameter takes the more general of two
// types that it was given.
class Substitution {
 public:
  explicit Substitution(TypePool& pool) : pool_(pool) {}

  Type Fresh();  // A new parameter.

  // Whether values of type `from` may be used as `to`. What it learns about parameters is kept only when they may.
  bool Assign(Type from, Type to);
  bool AssignAll(std::span<const Type> from, std::span<const Type> to);

  // The type with everything known put in. Parameters nobody knows stay, or become dyn.
  Type Resolve(Type type, bool unknown_is_dyn = false);

  // A copy of an overload's type with parameters of its own; `names` is kept for one overload.
  using Names = std::unordered_map<std::string, Type>;
  Type Instantiate(Type type, Names& names);

 private:
  void Learn(Type parameter, Type type);
  void ForgetFrom(std::size_t mark);  // What was learnt since the trail had this length.

  bool Try(Type from, Type to);
  bool TryParameter(Type type, Type parameter, bool type_is_from);
  bool OccursIn(Type parameter, Type type) const;

  TypePool& pool_;
  std::unordered_map<Type, Type> known_;
  std::vector<std::pair<Type, Type>> trail_;  // What a parameter stood for before; null: nothing.
  int count_ = 0;
};

bool IsDynamic(Type type);  // dyn, any, or already wrong
bool SameType(Type a, Type b);
// The one of two assignable types that says less: dyn before list(dyn) before list(int).
Type MoreGeneral(Type a, Type b);

}  // namespace tessera::cel
