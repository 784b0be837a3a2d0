// cel/estimate_call.h: what a call may cost at worst, by what is known about its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cel/ast.h"
#include "cel/function.h"
#include "cel/size_range.h"
#include "cel/type.h"

namespace tessera::cel {

// Where in the device a value comes from; sizes are known by it.
enum class Place : std::uint8_t {
  kNowhere,
  kDevice,
  kDriver,
  kMultiple,
  kAttributes,  // device.attributes
  kDomain,      // device.attributes[d]
  kAttribute,
  kCapacity,
  kCapacityDomain,
  kQuantity,
  kDomainName,
  kId,
};

// Sizes of what a list or a map holds.
struct Entries {
  SizeRange key;
  SizeRange value;
};

// What is known about a part of the expression.
struct Part {
  std::uint64_t cost = 0;
  std::optional<SizeRange> size;
  std::optional<Entries> entries;
  Place place = Place::kNowhere;
  Type type = nullptr;
  const Node* node = nullptr;

  SizeRange Size() const { return size.value_or(SizeRange{}); }
};

// A call's own cost, and the size of its result when that is known.
struct CallEstimate {
  std::uint64_t cost = 1;
  std::optional<SizeRange> size;
};

using Parts = std::span<const Part>;

// Of the function's own work, without what its arguments cost. `overload` is one that the arguments' types fit.
CallEstimate EstimateCall(std::string_view function, Parts parts, const Overload& overload);

inline bool IsKind(Type type, Kind kind) { return type->form == TypeForm::kConcrete && type->kind == kind; }

}  // namespace tessera::cel
