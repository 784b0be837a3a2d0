// cel/environment.h: what a release of Kubernetes lets a device selector use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cel/function.h"
#include "cel/parser.h"
#include "cel/type.h"

namespace tessera::cel {

enum class Release : std::uint8_t { k1_34, k1_35, k1_36, k1_37 };

// Kubernetes has two environments. The API server checks new and changed expressions against what the release before
// it knew, and minds feature gates. The scheduler takes stored ones with all that it knows, whatever the gates.
enum class Use : std::uint8_t { kNewExpression, kStoredExpression };

struct Environment {
  Release release = Release::k1_37;
  Use use = Use::kStoredExpression;
  bool consumable_capacity_gate = true;             // DRAConsumableCapacity: device.allowMultipleAllocations.
  bool list_type_attributes_gate = false;           // DRAListTypeAttributes: lists in device.attributes, includes().
  std::uint64_t cost_limit = 1'000'000;             // For one evaluation, and for the estimate of a new expression.
  std::size_t max_length = std::size_t{10} * 1024;  // Of the expression's text, in bytes.
};

bool HasAllowMultipleAllocations(const Environment& environment);
bool AllowsListAttributes(const Environment& environment);   // Otherwise a device that has one fails every selector.
bool DeclaresAttributesDyn(const Environment& environment);  // Otherwise `any`, which no macro may go through.

ParserOptions ParserOptionsFor(const Environment& environment);
// Lives as long as the process.
const FunctionSet& FunctionsFor(const Environment& environment);

}  // namespace tessera::cel
