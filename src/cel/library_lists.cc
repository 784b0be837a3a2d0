// Lists: Kubernetes' own functions, cel-go's extension, includes(), and sets.
#include <algorithm>
#include <vector>

#include "base/text.h"
#include "cel/arithmetic.h"
#include "cel/context.h"
#include "cel/library.h"

namespace tessera::cel {
namespace {

using Arguments = std::span<const Value>;

constexpr int kMaxFlattenDepth = 250;  // Deeper than any value an expression can make.

bool Same(Context& context, const Value& a, const Value& b) { return Equal(context.arena, a, b) == Equality::kEqual; }

// An error for a pair that has no order; otherwise null.
Value OrderFault(Order order) {
  if (order == Order::kNoOverload) return Value::Error(kNoSuchOverload);
  if (order == Order::kNotANumber) return Value::Error("NaN values cannot be ordered");
  return Value();
}

Value IsSorted(Context& /*context*/, Arguments a) {
  const auto items = a[0].AsList();
  for (std::size_t i = 1; i < items.size(); ++i) {
    const Order order = Compare(items[i - 1], items[i]);
    if (const Value fault = OrderFault(order); fault.IsError()) return fault;
    if (order == Order::kGreater) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value SumFrom(Context& context, Value sum, std::span<const Value> items) {
  for (const Value& item : items) {
    sum = Add(context, sum, item);
    if (sum.IsError()) return sum;
  }
  return sum;
}

// The type of an empty list is not known when it is evaluated; its sum is the int 0, which equals the other zeros.
Value Sum(Context& context, Arguments a) {
  const auto items = a[0].AsList();
  if (items.empty()) return Value::Int(0);
  const bool summable = items[0].IsNumber() || items[0].Is(Kind::kDuration);
  return summable ? SumFrom(context, items[0], items.subspan(1)) : Value::Error(kNoSuchOverload);
}

Value Extreme(Context& context, std::span<const Value> items, std::string_view name, Order wanted) {
  if (items.empty()) return context.Error(Format("{} called on empty list", name));
  Value best = items[0];
  for (const Value& item : items.subspan(1)) {
    const Order order = Compare(item, best);
    if (const Value fault = OrderFault(order); fault.IsError()) return fault;
    if (order == wanted) best = item;
  }
  return best;
}
Value Min(Context& context, Arguments a) { return Extreme(context, a[0].AsList(), "min", Order::kLess); }
Value Max(Context& context, Arguments a) { return Extreme(context, a[0].AsList(), "max", Order::kGreater); }

Value IndexOf(Context& context, Arguments a) {
  const auto items = a[0].AsList();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (Same(context, a[1], items[i])) return Value::Size(i);
  }
  return Value::Int(-1);
}

Value LastIndexOf(Context& context, Arguments a) {
  const auto items = a[0].AsList();
  for (std::size_t i = items.size(); i-- > 0;) {
    if (Same(context, a[1], items[i])) return Value::Size(i);
  }
  return Value::Int(-1);
}

constexpr auto kMethod = Style::kMethod;
constexpr auto kEach = CostRule::kAllElements;

constexpr OverloadSpec kKubernetes[]{
    {"isSorted", kMethod, "(list<int>) bool", IsSorted, kEach},
    {"isSorted", kMethod, "(list<uint>) bool", IsSorted, kEach},
    {"isSorted", kMethod, "(list<double>) bool", IsSorted, kEach},
    {"isSorted", kMethod, "(list<bool>) bool", IsSorted, kEach},
    {"isSorted", kMethod, "(list<duration>) bool", IsSorted, kEach},
    {"isSorted", kMethod, "(list<timestamp>) bool", IsSorted, kEach},
    {"isSorted", kMethod, "(list<string>) bool", IsSorted, kEach},
    {"isSorted", kMethod, "(list<bytes>) bool", IsSorted, kEach},
    {"sum", kMethod, "(list<int>) int", Sum, kEach},
    {"sum", kMethod, "(list<uint>) uint", Sum, kEach},
    {"sum", kMethod, "(list<double>) double", Sum, kEach},
    {"sum", kMethod, "(list<duration>) duration", Sum, kEach},
    {"min", kMethod, "(list<int>) int", Min, kEach},
    {"min", kMethod, "(list<uint>) uint", Min, kEach},
    {"min", kMethod, "(list<double>) double", Min, kEach},
    {"min", kMethod, "(list<bool>) bool", Min, kEach},
    {"min", kMethod, "(list<duration>) duration", Min, kEach},
    {"min", kMethod, "(list<timestamp>) timestamp", Min, kEach},
    {"min", kMethod, "(list<string>) string", Min, kEach},
    {"min", kMethod, "(list<bytes>) bytes", Min, kEach},
    {"max", kMethod, "(list<int>) int", Max, kEach},
    {"max", kMethod, "(list<uint>) uint", Max, kEach},
    {"max", kMethod, "(list<double>) double", Max, kEach},
    {"max", kMethod, "(list<bool>) bool", Max, kEach},
    {"max", kMethod, "(list<duration>) duration", Max, kEach},
    {"max", kMethod, "(list<timestamp>) timestamp", Max, kEach},
    {"max", kMethod, "(list<string>) string", Max, kEach},
    {"max", kMethod, "(list<bytes>) bytes", Max, kEach},
    {"indexOf", kMethod, "(list<A>, A) int", IndexOf, kEach},
    {"lastIndexOf", kMethod, "(list<A>, A) int", LastIndexOf, kEach},
};

Value Slice(Context& context, Arguments a) {
  const auto items = a[0].AsList();
  const std::int64_t begin = a[1].AsInt();
  const std::int64_t end = a[2].AsInt();
  if (begin < 0 || end < 0) {
    return context.Error(Format("cannot slice({}, {}), negative indexes not supported", begin, end));
  }
  if (begin > end) {
    return context.Error(
        Format("cannot slice({}, {}), start index must be less than or equal to end index", begin, end));
  }
  if (static_cast<std::uint64_t>(end) > items.size()) {
    return context.Error(Format("cannot slice({}, {}), list is length {}", begin, end, items.size()));
  }
  return Value::List(items.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}

void FlattenInto(Context& context, std::vector<Value>& out, std::span<const Value> items, std::int64_t depth) {
  for (const Value& item : items) {
    context.arena.Require(out.size() * sizeof(Value));
    if (item.Is(Kind::kList) && depth > 0) {
      context.arena.Work(1);
      FlattenInto(context, out, item.AsList(), depth - 1);
    } else {
      out.push_back(item);
    }
  }
}

Value Flatten(Context& context, Arguments a) {
  const std::int64_t depth = a.size() == 2 ? a[1].AsInt() : 1;
  if (depth < 0) return Value::Error("level must be non-negative");
  std::vector<Value> out;
  FlattenInto(context, out, a[0].AsList(), std::min<std::int64_t>(depth, kMaxFlattenDepth));
  return context.List(out);
}

Value Sort(Context& context, Arguments a) {
  const auto items = a[0].AsList();
  for (const Value& item : items) {
    if (item.kind() != items[0].kind() || Compare(item, item) == Order::kNoOverload) {
      return Value::Error("list elements must have the same type");
    }
  }
  std::vector<Value> sorted(items.begin(), items.end());
  std::ranges::stable_sort(sorted, [](const Value& x, const Value& y) { return Compare(x, y) == Order::kLess; });
  return context.List(sorted);
}

Value ListsRange(Context& context, Arguments a) {
  if (a[0].AsInt() <= 0) return Value::List({});
  const std::span<Value> items = context.arena.Room<Value>(static_cast<std::size_t>(a[0].AsInt()));
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = Value::Size(i);
  return Value::List(items);
}

Value Reverse(Context& context, Arguments a) {
  std::vector<Value> items(a[0].AsList().begin(), a[0].AsList().end());
  std::ranges::reverse(items);
  return context.List(items);
}

Value Distinct(Context& context, Arguments a) {
  std::vector<Value> kept;
  for (const Value& item : a[0].AsList()) {
    if (std::ranges::none_of(kept, [&](const Value& other) { return Same(context, other, item); })) {
      kept.push_back(item);
    }
  }
  return context.List(kept);
}

// What sortBy() is made of: a list and its keys. The evaluator does it; the checker needs the types of keys.
constexpr OverloadSpec SortByKeys(std::string_view signature) {
  return {"@sortByAssociatedKeys", kMethod, signature, nullptr, CostRule::kSelfCompare};
}

constexpr OverloadSpec kExtension[]{
    SortByKeys("(list<A>, list<int>) list<A>"),
    SortByKeys("(list<A>, list<uint>) list<A>"),
    SortByKeys("(list<A>, list<double>) list<A>"),
    SortByKeys("(list<A>, list<bool>) list<A>"),
    SortByKeys("(list<A>, list<duration>) list<A>"),
    SortByKeys("(list<A>, list<timestamp>) list<A>"),
    SortByKeys("(list<A>, list<string>) list<A>"),
    SortByKeys("(list<A>, list<bytes>) list<A>"),
    {"slice", kMethod, "(list<A>, int, int) list<A>", Slice, CostRule::kNewList},
    {"flatten", kMethod, "(list<list<A>>) list<A>", Flatten, CostRule::kFlatten},
    {"flatten", kMethod, "(list<dyn>, int) list<dyn>", Flatten, CostRule::kFlatten},
    {"sort", kMethod, "(list<int>) list<int>", Sort, CostRule::kSelfCompare},
    {"sort", kMethod, "(list<uint>) list<uint>", Sort, CostRule::kSelfCompare},
    {"sort", kMethod, "(list<double>) list<double>", Sort, CostRule::kSelfCompare},
    {"sort", kMethod, "(list<bool>) list<bool>", Sort, CostRule::kSelfCompare},
    {"sort", kMethod, "(list<duration>) list<duration>", Sort, CostRule::kSelfCompare},
    {"sort", kMethod, "(list<timestamp>) list<timestamp>", Sort, CostRule::kSelfCompare},
    {"sort", kMethod, "(list<string>) list<string>", Sort, CostRule::kSelfCompare},
    {"sort", kMethod, "(list<bytes>) list<bytes>", Sort, CostRule::kSelfCompare},
    {"lists.range", Style::kGlobal, "(int) list<int>", ListsRange, CostRule::kNewList},
    {"reverse", kMethod, "(list<A>) list<A>", Reverse, CostRule::kNewList},
    {"distinct", kMethod, "(list<A>) list<A>", Distinct, CostRule::kSelfCompare},
};

Value IncludesIn(Context& context, const Value& whole, const Value& part) {
  if (!whole.Is(Kind::kList)) return Value::Bool(Same(context, whole, part));
  return Value::Bool(std::ranges::any_of(whole.AsList(), [&](const Value& item) { return Same(context, item, part); }));
}
Value IncludesAny(Context& context, Arguments a) { return IncludesIn(context, a[0], a[1]); }
Value IncludesSome(Context& context, Arguments a) {
  if (a[0].Is(Kind::kList) && a[0].AsList().size() > kMaxIncludes) {
    return Value::Error("'includes' function cannot be applied to lists longer than 48 values");
  }
  return IncludesIn(context, a[0], a[1]);
}

constexpr OverloadSpec kIncludes48[]{{"includes", kMethod, "(dyn, dyn) bool", IncludesSome}};
constexpr OverloadSpec kIncludes[]{{"includes", kMethod, "(dyn, dyn) bool", IncludesAny, kEach}};

bool ContainsAll(Context& context, const Value& whole, const Value& part) {
  return std::ranges::all_of(part.AsList(), [&](const Value& wanted) {
    return std::ranges::any_of(whole.AsList(), [&](const Value& item) { return Same(context, item, wanted); });
  });
}

Value SetsContains(Context& context, Arguments a) { return Value::Bool(ContainsAll(context, a[0], a[1])); }
Value SetsEquivalent(Context& context, Arguments a) {
  return Value::Bool(ContainsAll(context, a[0], a[1]) && ContainsAll(context, a[1], a[0]));
}
Value SetsIntersects(Context& context, Arguments a) {
  return Value::Bool(std::ranges::any_of(a[0].AsList(), [&](const Value& item) {
    return std::ranges::any_of(a[1].AsList(), [&](const Value& other) { return Same(context, item, other); });
  }));
}

constexpr OverloadSpec kSets[]{
    {"sets.contains", Style::kGlobal, "(list<A>, list<A>) bool", SetsContains, CostRule::kSets},
    {"sets.equivalent", Style::kGlobal, "(list<A>, list<A>) bool", SetsEquivalent, CostRule::kSetsBothWays},
    {"sets.intersects", Style::kGlobal, "(list<A>, list<A>) bool", SetsIntersects, CostRule::kSets},
};

}  // namespace

std::span<const OverloadSpec> ListFunctions() { return kKubernetes; }
std::span<const OverloadSpec> ListExtension() { return kExtension; }
std::span<const OverloadSpec> IncludesUpTo48() { return kIncludes48; }
std::span<const OverloadSpec> Includes() { return kIncludes; }
std::span<const OverloadSpec> SetFunctions() { return kSets; }

}  // namespace tessera::cel
