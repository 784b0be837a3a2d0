#include "cel/cost.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cel/formats.h"
#include "cel/network.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

constexpr std::uint64_t kEnough = 10'000'000;  // Beyond every limit; counting on would only take time.

// Of all that a value holds. Text counts a tenth of its bytes, rounded down: Kubernetes' helper differs from cel-go's.
std::uint64_t DataCost(const Value& value) {
  if (value.Is(Kind::kString) || value.Is(Kind::kBytes)) return value.AsText().size() / 10;
  if (!value.Is(Kind::kList)) return 1;
  std::uint64_t cost = 0;
  for (const Value& item : value.AsList()) {
    cost += DataCost(item);
    if (cost > kEnough) break;
  }
  return cost;
}

// A quarter of the pattern: about so many parts does a usual one have.
std::uint64_t RegexCost(std::uint64_t text, std::uint64_t pattern) {
  return TraversalCost(text + 1) * ((pattern + 3) / 4);
}

std::uint64_t FlattenDepth(std::span<const Value> arguments) {
  const bool given = arguments.size() > 1 && arguments[1].Is(Kind::kInt) && arguments[1].AsInt() > 0;
  return given ? arguments[1].AsUint() : 1;
}

std::uint64_t CidrCost(std::span<const Value> arguments, bool block) {
  if (!arguments[0].Is(Kind::kCidr)) return 1;
  const std::uint64_t bytes = (static_cast<std::uint64_t>(arguments[0].AsCidr().prefix) + 7) / 8;
  std::uint64_t cost = TraversalCost(2 * bytes);
  if (block) cost += TraversalCost(bytes) + 1;
  if (arguments[1].Is(Kind::kString)) cost += TraversalCost(SizeForCost(arguments[1]));
  return cost;
}

}  // namespace

std::uint64_t SelfCompareCost(const Value& list) {
  if (!list.Is(Kind::kList)) return 1 + kListCost + 2;
  const auto items = list.AsList();
  const std::uint64_t pairs = items.size() * items.size();
  const bool text = !items.empty() && (items[0].Is(Kind::kString) || items[0].Is(Kind::kBytes));
  return 1 + kListCost + 2 * pairs + (text ? pairs / 10 : 0);
}

std::uint64_t SizeForCost(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
      return CountCodePoints(value.AsText());
    case Kind::kBytes:
      return value.AsText().size();
    case Kind::kList:
      return value.AsList().size();
    case Kind::kMap:
      return value.AsMap().Size();
    default:
      return 1;
  }
}

std::uint64_t EqualityCost(const Value& a, const Value& b) {
  if (!a.Is(Kind::kString) || !b.Is(Kind::kString)) return TraversalCost(std::min(SizeForCost(a), SizeForCost(b)));
  // The shorter text decides; the other is not counted to its end.
  std::string_view shorter = a.AsText();
  std::string_view longer = b.AsText();
  if (shorter.size() > longer.size()) std::swap(shorter, longer);
  return TraversalCost(CountUpTo(longer, CountCodePoints(shorter)));
}

std::uint64_t OrderCost(const Value& a, const Value& b) {
  const auto is_text = [](const Value& value) { return value.Is(Kind::kString) || value.Is(Kind::kBytes); };
  return is_text(a) || is_text(b) ? EqualityCost(a, b) : 1;
}

std::uint64_t CallCost(CostRule rule, std::span<const Value> arguments, const Value& result) {
  switch (rule) {
    case CostRule::kOne:
      return 1;
    case CostRule::kTraverse:
      return TraversalCost(SizeForCost(arguments[0]));
    case CostRule::kTraverseSecond:
      return TraversalCost(SizeForCost(arguments[1]));
    case CostRule::kTraverseTwice:
      return TraversalCost(2 * SizeForCost(arguments[0]));
    case CostRule::kBuildResult:
      return TraversalCost(2 * SizeForCost(result));
    case CostRule::kAllElements:
      return DataCost(arguments[0]);
    case CostRule::kRegex:
      return RegexCost(SizeForCost(arguments[0]), SizeForCost(arguments[1]));
    case CostRule::kContains:
      return TraversalCost(SizeForCost(arguments[0])) * TraversalCost(SizeForCost(arguments[1]));
    case CostRule::kFormat:
      if (!arguments[0].Is(Kind::kFormat)) return 1;
      return RegexCost(SizeForCost(arguments[1]), arguments[0].AsFormat().longest_pattern);
    case CostRule::kCidrContains:
      return CidrCost(arguments, false);
    case CostRule::kCidrContainsBlock:
      return CidrCost(arguments, true);
    case CostRule::kSets:
      return 1 + SizeForCost(arguments[0]) * SizeForCost(arguments[1]);
    case CostRule::kSetsBothWays:
      return 1 + 2 * SizeForCost(arguments[0]) * SizeForCost(arguments[1]);
    case CostRule::kNewList:
      return 1 + kListCost + SizeForCost(result);
    case CostRule::kFlatten:
      return 1 + kListCost + SizeForCost(arguments[0]) * FlattenDepth(arguments);
    case CostRule::kSelfCompare:
      return SelfCompareCost(arguments[0]);
  }
  return 1;
}

}  // namespace tessera::cel
