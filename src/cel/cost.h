// cel/cost.h: what evaluation costs, in the units of Kubernetes' limits (cel-go v0.26 with Kubernetes' overrides).
#pragma once

#include <cstdint>
#include <span>

#include "cel/function.h"
#include "cel/value.h"

namespace tessera::cel {

constexpr std::uint64_t kSelectCost = 1;
constexpr std::uint64_t kListCost = 10;
constexpr std::uint64_t kMapCost = 30;

// Characters of text, elements of a list or map; 1 for everything else.
std::uint64_t SizeForCost(const Value& value);

// ceil(size / 10)
constexpr std::uint64_t TraversalCost(std::uint64_t size) { return size / 10 + (size % 10 == 0 ? 0 : 1); }

std::uint64_t EqualityCost(const Value& a, const Value& b);
std::uint64_t OrderCost(const Value& a, const Value& b);
std::uint64_t SelfCompareCost(const Value& list);  // Every element with every other.
// Arguments may be errors, and of other kinds than the function takes: a call that fails is charged as well.
std::uint64_t CallCost(CostRule rule, std::span<const Value> arguments, const Value& result);

}  // namespace tessera::cel
