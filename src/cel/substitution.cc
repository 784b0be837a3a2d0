#include "cel/substitution.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::cel {
namespace {

bool IsParameter(Type type) { return type->form == TypeForm::kParameter; }

bool IsNull(Type type) { return type->form == TypeForm::kConcrete && type->kind == Kind::kNull; }

// Kinds that null may stand for, besides itself.
bool TakesNull(Kind kind) {
  return kind == Kind::kNull || kind == Kind::kTimestamp || kind == Kind::kDuration || kind >= Kind::kOptional;
}

// Whether `a` says no more than `b`.
bool IsLessSpecific(Type a, Type b) {
  if (IsDynamic(a) || IsParameter(a)) return true;
  if (IsDynamic(b) || IsParameter(b) || a->form != b->form || a->kind != b->kind) return false;
  if (a->arguments.size() != b->arguments.size()) return false;
  for (std::size_t i = 0; i < a->arguments.size(); ++i) {
    if (!IsLessSpecific(a->arguments[i], b->arguments[i])) return false;
  }
  return true;
}

}  // namespace

bool IsDynamic(Type type) {
  return type->form == TypeForm::kDyn || type->form == TypeForm::kAny || type->form == TypeForm::kError;
}

bool SameType(Type a, Type b) {
  if (a == b) return true;
  if (a->form != b->form || a->kind != b->kind || a->name != b->name) return false;
  return std::ranges::equal(a->arguments, b->arguments, SameType);
}

Type MoreGeneral(Type a, Type b) {
  if (IsNull(a) != IsNull(b)) return IsNull(a) ? b : a;
  return IsLessSpecific(a, b) ? a : b;
}

Type Substitution::Fresh() { return pool_.Parameter(Format("_var{}", count_++)); }

bool Substitution::Assign(Type from, Type to) {
  const Type froms[]{from};
  const Type tos[]{to};
  return AssignAll(froms, tos);
}

bool Substitution::AssignAll(std::span<const Type> from, std::span<const Type> to) {
  if (from.size() != to.size()) return false;
  const std::size_t mark = trail_.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (Try(from[i], to[i])) continue;
    ForgetFrom(mark);
    return false;
  }
  trail_.resize(mark);
  return true;
}

void Substitution::Learn(Type parameter, Type type) {
  Type& known = known_[parameter];
  trail_.emplace_back(parameter, known);
  known = type;
}

void Substitution::ForgetFrom(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const auto [parameter, before] = trail_.back();
    if (before == nullptr) {
      known_.erase(parameter);
    } else {
      known_[parameter] = before;
    }
  }
}

bool Substitution::Try(Type from, Type to) {
  if (from == to) return true;
  if (IsParameter(to)) {
    const bool was_known = known_.contains(to);
    if (TryParameter(from, to, true)) return true;
    if (was_known) return false;
  }
  if (IsParameter(from)) return TryParameter(to, from, false);
  if (IsDynamic(from) || IsDynamic(to)) return true;
  if (from->kind == Kind::kNull || to->kind == Kind::kNull) {
    return TakesNull(from->kind == Kind::kNull ? to->kind : from->kind);
  }
  if (from->kind != to->kind) return false;
  if (from->kind == Kind::kType) return true;
  if (from->arguments.size() != to->arguments.size()) return from->arguments.empty() || to->arguments.empty();
  for (std::size_t i = 0; i < from->arguments.size(); ++i) {
    if (!Try(from->arguments[i], to->arguments[i])) return false;
  }
  return true;
}

bool Substitution::TryParameter(Type type, Type parameter, bool type_is_from) {
  if (const auto known = known_.find(parameter); known != known_.end()) {
    const Type old = known->second;
    if (SameType(type, old)) return true;
    if (!(type_is_from ? Try(type, old) : Try(old, type))) return false;
    const Type general = MoreGeneral(type, old);
    if (!OccursIn(parameter, general)) Learn(parameter, general);
    return true;
  }
  if (OccursIn(parameter, type)) return false;
  Learn(parameter, type);
  return true;
}

bool Substitution::OccursIn(Type parameter, Type type) const {
  if (type == parameter) return true;
  if (const auto known = known_.find(type); known != known_.end()) return OccursIn(parameter, known->second);
  return std::ranges::any_of(type->arguments, [&](Type argument) { return OccursIn(parameter, argument); });
}

Type Substitution::Resolve(Type type, bool unknown_is_dyn) {
  if (const auto known = known_.find(type); known != known_.end()) return Resolve(known->second, unknown_is_dyn);
  if (IsParameter(type)) return unknown_is_dyn ? DynType() : type;
  if (type->arguments.empty()) return type;
  std::vector<Type> arguments;
  for (const Type argument : type->arguments) arguments.push_back(Resolve(argument, unknown_is_dyn));
  return arguments == type->arguments ? type : pool_.Rebuild(type, std::move(arguments));
}

Type Substitution::Instantiate(Type type, Names& names) {
  if (IsParameter(type)) {
    const auto [entry, is_new] = names.try_emplace(type->name, nullptr);
    if (is_new) entry->second = Fresh();
    return entry->second;
  }
  if (type->arguments.empty()) return type;
  std::vector<Type> arguments;
  for (const Type argument : type->arguments) arguments.push_back(Instantiate(argument, names));
  return arguments == type->arguments ? type : pool_.Rebuild(type, std::move(arguments));
}

}  // namespace tessera::cel
