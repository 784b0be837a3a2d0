// alloc/attribute_values.h: which devices have an attribute's values in common, told by small numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "alloc/constraints.h"
#include "alloc/pools.h"

namespace tessera::alloc {

// The values of one constraint's attribute, numbered from 0. Devices satisfy matchAttribute together when one number is
// in all of their lists, and distinctAttribute when no two lists have a number in common.
class AttributeValues {
 public:
  AttributeValues(const PlannedConstraint& constraint, const std::vector<Candidate>& devices);

  // A device's, in ascending order; none when it lacks the attribute. More than one only where sets are compared.
  std::span<const std::uint32_t> Of(std::uint32_t device) const {
    return std::span(numbers_).subspan(first_[device], first_[device + 1] - first_[device]);
  }
  std::uint32_t count() const { return count_; }

 private:
  std::vector<std::uint32_t> numbers_;  // Of all devices, one after the other …
  std::vector<std::uint32_t> first_;    // … and where each device's begin; one more at the end.
  std::uint32_t count_ = 0;
};

}  // namespace tessera::alloc
