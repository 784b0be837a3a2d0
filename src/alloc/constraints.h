// alloc/constraints.h: matchAttribute and distinctAttribute of a claim, while devices are chosen and given up again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloc/pools.h"
#include "alloc/rules.h"
#include "api/claim_spec.h"

namespace tessera::alloc {

// A full name, taken apart once.
struct AttributeName {
  explicit AttributeName(std::string_view name);
  std::string full, domain, id;
};

// The attribute by its full name or, in the driver's own domain, by its id. Null when there is none.
const api::Attribute* FindAttribute(const Candidate& candidate, const AttributeName& name);

// A constraint of a claim, made ready. Views the claim's, which must outlive it.
class PlannedConstraint {
 public:
  PlannedConstraint(const api::Constraint& constraint, const Rules& rules);

  // Whether it is about devices of this request, "main" or, with a sub-request, "main/sub".
  bool Covers(std::string_view main, std::string_view full) const;

  bool matches() const { return match_; }  // matchAttribute; otherwise distinctAttribute.
  const AttributeName& attribute() const { return attribute_; }
  bool keeps_last_only() const { return keeps_last_only_; }  // Rules::distinct_keeps_last_only applies.
  bool means_present() const { return means_present_; }      // Rules::distinct_means_present applies.
  bool compares_sets() const { return compares_sets_; }      // Rules::constraints_compare_sets.

 private:
  const api::Constraint* constraint_;
  AttributeName attribute_;
  bool match_;
  bool keeps_last_only_;
  bool means_present_;
  bool compares_sets_;
};

// The devices that have been chosen under a constraint, which is always the same one.
class ConstraintState {
 public:
  // Adds the device when it satisfies the constraint together with those added before. `request` is the number of the
  // main request. Each device added is removed again in reverse order, or never.
  bool Add(const PlannedConstraint& constraint, std::uint32_t request, const Candidate& candidate);
  void Remove(const PlannedConstraint& constraint, std::uint32_t request);

 private:
  bool Fits(const PlannedConstraint& constraint, const api::Attribute& value) const;
  bool AddSet(const PlannedConstraint& constraint, const api::Attribute& value);

  std::vector<std::pair<std::uint32_t, const api::Attribute*>> values_;
  std::size_t devices_ = 0;
  // Where sets are compared, instead of values_. For matchAttribute what the devices up to each have in common, for
  // distinctAttribute what each has.
  std::vector<api::Attribute> sets_;
};

}  // namespace tessera::alloc
