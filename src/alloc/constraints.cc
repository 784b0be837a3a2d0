#include "alloc/constraints.h"

#include <algorithm>

#include "alloc/attribute_set.h"

namespace tessera::alloc {

AttributeName::AttributeName(std::string_view name) : full(name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return;
  domain = name.substr(0, slash);
  id = name.substr(slash + 1);
}

const api::Attribute* FindAttribute(const Candidate& candidate, const AttributeName& name) {
  const auto& attributes = candidate.device->attributes;
  const auto full = attributes.find(name.full);
  if (full != attributes.end()) return &full->second;
  if (name.id.empty() || name.domain != candidate.slice->driver) return nullptr;
  const auto bare = attributes.find(name.id);
  return bare == attributes.end() ? nullptr : &bare->second;
}

namespace {

bool IsScalar(const api::Attribute& attribute) {
  return std::holds_alternative<std::string>(attribute) || std::holds_alternative<std::int64_t>(attribute) ||
         std::holds_alternative<bool>(attribute) || std::holds_alternative<api::Version>(attribute);
}

// Lists are never the same, and versions are compared as text.
bool SameValue(const api::Attribute& a, const api::Attribute& b) { return IsScalar(a) && a == b; }

}  // namespace

PlannedConstraint::PlannedConstraint(const api::Constraint& constraint, const Rules& rules)
    : constraint_(&constraint),
      attribute_(constraint.match_attribute ? *constraint.match_attribute : *constraint.distinct_attribute),
      match_(constraint.match_attribute.has_value()),
      keeps_last_only_(!match_ && rules.distinct_keeps_last_only),
      means_present_(!match_ && rules.distinct_means_present),
      compares_sets_(rules.constraints_compare_sets) {}

bool PlannedConstraint::Covers(std::string_view main, std::string_view full) const {
  const auto& names = constraint_->requests;
  return names.empty() || std::ranges::any_of(names, [&](const auto& name) { return name == main || name == full; });
}

bool ConstraintState::Fits(const PlannedConstraint& constraint, const api::Attribute& value) const {
  if (devices_ == 0 || constraint.means_present()) return true;
  if (constraint.matches()) return SameValue(value, *values_.front().second);
  // A value whose type the scheduler does not know differs from nothing.
  return values_.empty() ||
         (IsScalar(value) && std::ranges::none_of(values_, [&](const auto& known) { return *known.second == value; }));
}

bool ConstraintState::AddSet(const PlannedConstraint& constraint, const api::Attribute& value) {
  auto set = AsSet(value);
  if (!set) return false;
  if (constraint.matches()) {
    if (!sets_.empty()) set = Common(sets_.back(), *set);
    if (!set) return false;
  } else if (std::ranges::any_of(sets_, [&](const auto& known) { return Common(known, *set).has_value(); })) {
    return false;
  }
  sets_.push_back(*std::move(set));
  return true;
}

bool ConstraintState::Add(const PlannedConstraint& constraint, std::uint32_t request, const Candidate& candidate) {
  const api::Attribute* value = FindAttribute(candidate, constraint.attribute());
  if (value == nullptr) return false;
  if (constraint.compares_sets()) return AddSet(constraint, *value);
  if (!Fits(constraint, *value)) return false;
  ++devices_;
  if (constraint.keeps_last_only()) {
    const auto slot = std::ranges::find(values_, request, &std::pair<std::uint32_t, const api::Attribute*>::first);
    if (slot != values_.end()) {
      slot->second = value;
      return true;
    }
  }
  values_.emplace_back(request, value);
  return true;
}

void ConstraintState::Remove(const PlannedConstraint& constraint, std::uint32_t request) {
  if (constraint.compares_sets()) return sets_.pop_back();
  --devices_;
  if (constraint.keeps_last_only()) {
    std::erase_if(values_, [&](const auto& known) { return known.first == request; });
  } else {
    values_.pop_back();
  }
}

}  // namespace tessera::alloc
