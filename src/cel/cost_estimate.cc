#include "cel/cost_estimate.h"

#include <array>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/cost.h"
#include "cel/estimate_call.h"
#include "cel/names.h"
#include "cel/size_range.h"
#include "cel/substitution.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

Place FieldOf(Place place, std::string_view field) {
  if (place == Place::kDomain) return Place::kAttribute;
  if (place != Place::kDevice) return Place::kNowhere;
  if (field == "driver") return Place::kDriver;
  if (field == "attributes") return Place::kAttributes;
  if (field == "capacity") return Place::kCapacity;
  return field == "allowMultipleAllocations" ? Place::kMultiple : Place::kNowhere;
}

Place ValueIn(Place place) {
  switch (place) {
    case Place::kAttributes:
      return Place::kDomain;
    case Place::kDomain:
      return Place::kAttribute;
    case Place::kCapacity:
      return Place::kCapacityDomain;
    case Place::kCapacityDomain:
      return Place::kQuantity;
    default:
      return Place::kNowhere;
  }
}

Place KeyIn(Place place) {
  if (place == Place::kAttributes || place == Place::kCapacity) return Place::kDomainName;
  return place == Place::kDomain || place == Place::kCapacityDomain ? Place::kId : Place::kNowhere;
}

std::optional<SizeRange> SizeAt(Place place) {
  switch (place) {
    case Place::kNowhere:
      return std::nullopt;
    case Place::kDriver:
    case Place::kDomainName:
      return SizeRange{0, 63};
    case Place::kMultiple:
      return SizeRange{0, 1};
    case Place::kAttribute:
      return SizeRange{0, 64};
    case Place::kDevice:
    case Place::kQuantity:
      return SizeRange{0, 0};
    default:
      return SizeRange{0, 32};
  }
}

// Of one size, whatever its value.
bool IsScalar(Type type) {
  if (type->form != TypeForm::kConcrete) return false;
  switch (type->kind) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kDuration:
    case Kind::kTimestamp:
      return true;
    case Kind::kOptional:
      return !type->arguments.empty() && IsScalar(type->arguments[0]);
    default:
      return false;
  }
}

class Estimator {
 public:
  Estimator(const Ast& ast, const Checked& checked, const FunctionSet& functions)
      : ast_(ast), checked_(checked), functions_(functions) {}

  std::uint64_t Run() { return Visit(ast_.root).cost; }

 private:
  struct Local {
    std::string_view name;
    Part part;
  };

  Part Visit(NodeId id) {
    const Node& node = ast_.at(id);
    const Type type = checked_.types[id] == nullptr ? DynType() : checked_.types[id];
    Part part = VisitKind(node);
    part.type = type;
    part.node = &node;
    // What a call computed comes first, then the device's own limits, then what the type says.
    if (!part.size) part.size = SizeAt(part.place);
    if (!part.size && IsScalar(type)) part.size = SizeRange::Exactly(1);
    return part;
  }

  Part VisitKind(const Node& node) {
    switch (node.kind) {
      case NodeKind::kConstant:
        return {.size = LiteralSize(node)};
      case NodeKind::kIdentifier:
        return VisitIdentifier(node);
      case NodeKind::kSelect:
        return VisitSelect(node);
      case NodeKind::kCall:
        return VisitCall(node);
      case NodeKind::kList:
        return VisitList(node);
      case NodeKind::kMap:
        return VisitMap(node);
      case NodeKind::kFold:
        return VisitFold(node);
      case NodeKind::kBind:
        return VisitBind(node);
      case NodeKind::kStruct:
        return {};
    }
    std::unreachable();
  }

  static SizeRange LiteralSize(const Node& node) {
    if (const auto* text = std::get_if<std::string>(&node.constant)) return SizeRange::Exactly(CountCodePoints(*text));
    if (const auto* bytes = std::get_if<Bytes>(&node.constant)) return SizeRange::Exactly(bytes->text.size());
    return SizeRange::Exactly(1);
  }

  Part VisitIdentifier(const Node& node) {
    for (const Local& local : locals_ | std::views::reverse) {
      if (local.name != node.name || node.is_rooted) continue;
      Part part = local.part;
      part.cost = kSelectCost;
      return part;
    }
    return {.cost = kSelectCost, .place = node.name == "device" ? Place::kDevice : Place::kNowhere};
  }

  Part VisitSelect(const Node& node) {
    const Part operand = Visit(node.children[0]);
    if (node.test_only) return {.cost = operand.cost};
    // cel-go's estimate leaves out what is looked up in other values, unless it is optional and so a call.
    const bool counts = node.is_optional || IsKind(operand.type, Kind::kMap) || IsKind(operand.type, Kind::kDevice);
    const bool is_optional = node.is_optional || IsKind(operand.type, Kind::kOptional);
    return {.cost = CappedSum(operand.cost, counts ? kSelectCost : 0),
            .place = is_optional ? Place::kNowhere : FieldOf(operand.place, node.name)};
  }

  std::vector<Part> VisitAll(std::span<const NodeId> nodes) {
    std::vector<Part> parts;
    for (const NodeId node : nodes) parts.push_back(Visit(node));
    return parts;
  }

  static std::uint64_t Sum(Parts parts) {
    std::uint64_t sum = 0;
    for (const Part& part : parts) sum = CappedSum(sum, part.cost);
    return sum;
  }

  Part VisitCall(const Node& node) {
    if (const std::string name = NamespacedFunction(ast_, node, functions_); !name.empty()) {
      return CallOf(name, Style::kGlobal, VisitAll(std::span(node.children).subspan(1)));
    }
    const std::vector<Part> parts = VisitAll(node.children);
    if (node.name == "_&&_" || node.name == "_||_") return {.cost = Sum(parts)};
    if (node.name == "_?_:_") return Conditional(parts);
    if (node.name == "dyn" && parts.size() == 1) {
      Part part = parts[0];
      part.cost = CappedSum(part.cost, 1);
      return part;
    }
    Part part = CallOf(node.name, node.is_member ? Style::kMethod : Style::kGlobal, parts);
    if (node.name == "_[_]") {
      part.place = ValueIn(parts[0].place);
      if (parts[0].entries) part.size = parts[0].entries->value;
    }
    if (node.name == "_+_") part.entries = United(parts[0].entries, parts[1].entries);
    return part;
  }

  static std::optional<Entries> United(const std::optional<Entries>& a, const std::optional<Entries>& b) {
    if (!a || !b) return std::nullopt;
    return Entries{a->key.Union(b->key), a->value.Union(b->value)};
  }

  static Part Conditional(Parts parts) {
    return {.cost = CappedSum(parts[0].cost, std::max(parts[1].cost, parts[2].cost)),
            .size = parts[1].Size().Union(parts[2].Size()),
            .entries = United(parts[1].entries, parts[2].entries)};
  }

  // The most that any overload costs which the types fit.
  Part CallOf(std::string_view function, Style style, Parts parts) {
    std::uint64_t cost = 0;
    std::optional<SizeRange> size;
    for (const Overload& overload : functions_.Find(function)) {
      if (overload.style != style || !Fits(overload, parts)) continue;
      const CallEstimate call = EstimateCall(function, parts, overload);
      cost = std::max(cost, call.cost);
      if (call.size) size = size ? size->Union(*call.size) : *call.size;
    }
    return {.cost = CappedSum(Sum(parts), cost), .size = size};
  }

  static bool Fits(const Overload& overload, Parts parts) {
    if (overload.parameters.size() != parts.size()) return false;
    TypePool pool;
    Substitution types(pool);
    Substitution::Names names;
    std::vector<Type> wanted;
    std::vector<Type> given;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      wanted.push_back(types.Instantiate(overload.parameters[i], names));
      given.push_back(parts[i].type);
    }
    return types.AssignAll(given, wanted);
  }

  Part VisitList(const Node& node) {
    const std::vector<Part> parts = VisitAll(node.children);
    Entries entries{.key = SizeRange::Exactly(1), .value = {parts.empty() ? 0 : kUnbounded, 0}};
    for (const Part& part : parts) entries.value = entries.value.Union(part.Size());
    return {.cost = CappedSum(Sum(parts), kListCost), .size = SizeRange::Exactly(parts.size()), .entries = entries};
  }

  Part VisitMap(const Node& node) {
    const std::vector<Part> parts = VisitAll(node.children);
    const SizeRange none{parts.empty() ? 0 : kUnbounded, 0};
    Entries entries{.key = none, .value = none};
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      entries.key = entries.key.Union(parts[i].Size());
      entries.value = entries.value.Union(parts[i + 1].Size());
    }
    return {.cost = CappedSum(Sum(parts), kMapCost), .size = SizeRange::Exactly(parts.size() / 2), .entries = entries};
  }

  Part VisitBind(const Node& node) {
    const Part initial = Visit(node.children[0]);
    locals_.push_back({node.name, initial});
    Part body = Visit(node.children[1]);
    locals_.pop_back();
    body.cost = CappedSum(body.cost, CappedSum(initial.cost, kListCost));
    body.place = Place::kNowhere;
    return body;
  }

  // A variable that goes through keys, indices or values of the range.
  static Part Variable(const Part& range, bool values) {
    const bool list = IsKind(range.type, Kind::kList);
    Part part;
    if (list) {
      if (range.entries) part.size = values ? range.entries->value : range.entries->key;
    } else {
      part.place = values ? ValueIn(range.place) : KeyIn(range.place);
      if (range.entries) part.size = values ? range.entries->value : range.entries->key;
    }
    return part;
  }

  Part VisitFold(const Node& node) {
    const Part range = Visit(node.children[0]);
    if (node.macro == Macro::kOptMap || node.macro == Macro::kOptFlatMap) return VisitOptionalMap(node, range);
    const std::size_t outer = locals_.size();
    const bool list = IsKind(range.type, Kind::kList);
    locals_.push_back({node.name, Variable(range, node.second.empty() && list)});
    if (!node.second.empty()) locals_.push_back({node.second, Variable(range, true)});
    const std::vector<Part> parts = VisitAll(std::span(node.children).subspan(1));
    locals_.resize(outer);
    return FoldOf(node, range, parts);
  }

  // The accumulator's first value, what each iteration costs, and the reading of the result.
  struct Loop {
    std::uint64_t start = 0;
    std::uint64_t iteration = 0;
    std::uint64_t result = kSelectCost;
    std::optional<Entries> entries;
    bool is_container = false;
  };

  Part FoldOf(const Node& node, const Part& range, Parts parts) {
    const Loop loop = LoopOf(node, range, parts);
    const std::uint64_t rounds = CappedProduct(range.Size().max, loop.iteration);
    Part part{.cost = CappedSum(CappedSum(range.cost, loop.start + loop.result), rounds)};
    if (loop.is_container) {
      part.size = range.Size();
      part.entries = loop.entries;
    }
    if (node.macro == Macro::kSortBy) return SortedBy(range, part, parts[0]);
    return part;
  }

  // cel.bind(input, range, input.@sortByAssociatedKeys(input.map(x, key)))
  Part SortedBy(const Part& range, Part keys, const Part& key) {
    TypePool pool;
    keys.type = pool.List(key.type);
    keys.cost = CappedSum(keys.cost, kSelectCost);
    Part input = range;
    input.cost = kSelectCost;
    Part sorted = CallOf("@sortByAssociatedKeys", Style::kMethod, std::array{input, keys});
    sorted.cost = CappedSum(sorted.cost, kListCost);
    return sorted;
  }

  Loop LoopOf(const Node& node, const Part& range, Parts parts) {
    const std::uint64_t first = parts[0].cost;
    const std::uint64_t last = parts.back().cost;
    const std::uint64_t predicate = parts.size() == 2 ? first : 0;
    constexpr std::uint64_t kAppend = 1 + kSelectCost + kListCost;
    const auto element = [&](const Part& part) { return Entries{.key = SizeRange::Exactly(1), .value = part.Size()}; };
    switch (node.macro) {
      case Macro::kAll:
        return {.iteration = CappedSum(2 + kSelectCost, first)};
      case Macro::kExists:
        return {.iteration = CappedSum(3 + kSelectCost, first)};
      case Macro::kExistsOne:
        return {.iteration = CappedSum(kSelectCost + 1, first), .result = kSelectCost + 1};
      case Macro::kFilter:
        return {.start = kListCost,
                .iteration = CappedSum(first, kAppend + kSelectCost),
                .entries = range.entries,
                .is_container = true};
      case Macro::kTransformMap:
        return {.start = kMapCost,
                .iteration = CappedSum(predicate, CappedSum(last, 1 + 2 * kSelectCost)),
                .is_container = true};
      case Macro::kTransformMapEntry:
        return {.start = kMapCost,
                .iteration = CappedSum(predicate, CappedSum(last, 1 + kSelectCost)),
                .is_container = true};
      default:
        return {.start = kListCost,
                .iteration = CappedSum(predicate, CappedSum(last, kAppend)),
                .entries = element(parts.back()),
                .is_container = true};
    }
  }

  // target.hasValue() ? optional.of(body) : optional.none(), with the variable bound to target.value().
  Part VisitOptionalMap(const Node& node, const Part& target) {
    locals_.push_back({node.name, {}});
    const Part body = Visit(node.children[1]);
    locals_.pop_back();
    const std::uint64_t wrap = node.macro == Macro::kOptMap ? 1 : 0;
    const std::uint64_t bound = CappedSum(CappedSum(target.cost, 1 + kListCost + wrap), body.cost);
    return {.cost = CappedSum(CappedSum(target.cost, 1), bound)};
  }

  const Ast& ast_;
  const Checked& checked_;
  const FunctionSet& functions_;
  std::vector<Local> locals_;
};

}  // namespace

std::uint64_t EstimateCost(const Ast& ast, const Checked& checked, const FunctionSet& functions) {
  return Estimator(ast, checked, functions).Run();
}

}  // namespace tessera::cel
