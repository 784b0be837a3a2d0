#include "cel/cost_estimate.h"

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/cost.h"
#include "cel/names.h"
#include "cel/size_range.h"
#include "cel/substitution.h"
#include "cel/utf8.h"

namespace tessera::cel {
namespace {

constexpr double kTextFactor = 0.1;
constexpr double kRegexFactor = 0.25;
constexpr std::uint64_t kFormatPattern = 128;  // The longest pattern of a named format, as Kubernetes reckons.

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

bool IsKind(Type type, Kind kind) { return type->form == TypeForm::kConcrete && type->kind == kind; }

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

std::uint64_t TextCost(const Part& part) { return CappedScale(part.Size().max, kTextFactor); }

std::uint64_t RegexCost(const Part& text, const Part& pattern) {
  return CappedProduct(CappedScale(CappedSum(text.Size().max, 1), kTextFactor),
                       CappedScale(pattern.Size().max, kRegexFactor));
}

bool IsText(Type type) { return IsKind(type, Kind::kString) || IsKind(type, Kind::kBytes); }

std::uint64_t CompareCost(const Part& a, const Part& b) {
  return CappedScale(std::min(a.Size().max, b.Size().max), kTextFactor);
}

using Parts = std::span<const Part>;

std::optional<std::int64_t> IntegerLiteral(const Part& part) {
  const auto* number = part.node == nullptr ? nullptr : std::get_if<std::int64_t>(&part.node->constant);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

// isSorted, sum, min, max, indexOf, lastIndexOf.
CallEstimate EstimateElements(Parts parts) {
  const Part& target = parts[0];
  if (!IsKind(target.type, Kind::kList) || target.type->arguments.empty()) return {TextCost(target), {}};
  std::uint64_t each = 1;
  // Nothing is known about the length of texts in a list.
  if (IsText(target.type->arguments[0])) each += CappedScale(kUnbounded, kTextFactor);
  return {CappedProduct(target.Size().max, each), {}};
}

CallEstimate EstimateReplace(Parts parts) {
  const SizeRange text = parts[0].Size();
  const SizeRange old = parts[1].Size();
  const SizeRange with = parts[2].Size();
  SizeRange count{0, 0};
  SizeRange kept{0, 0};
  if (old.min == 0) {
    count.max = CappedSum(text.max, 1);
    kept.max = text.max;
  } else if (with.max <= old.min) {
    kept.max = text.max;
  } else {
    count.max = CappedScale(text.max, 1.0 / static_cast<double>(old.min));
  }
  if (old.max == 0) {
    count.min = CappedSum(text.min, 1);
    kept.min = text.min;
  } else if (old.max <= with.min) {
    kept.min = text.min;
  } else {
    count.min = CappedScale(text.min, 1.0 / static_cast<double>(old.max));
  }
  return {CappedScale(text.max, 2 * kTextFactor), count * with + kept};
}

CallEstimate EstimateSplit(Parts parts) {
  const SizeRange text = parts[0].Size();
  const auto limit = parts.size() > 2 ? IntegerLiteral(parts[2]) : std::nullopt;
  return {CappedScale(text.max, 2 * kTextFactor), SizeRange{0, limit ? static_cast<std::uint64_t>(*limit) : text.max}};
}

CallEstimate EstimateJoin(Parts parts) {
  const SizeRange list = parts[0].Size();
  SizeRange size = list * SizeRange{};  // The elements' size is not known.
  if (parts.size() > 1) {
    const SizeRange separators{list.min == 0 ? 0 : list.min - 1, list.max == 0 ? 0 : list.max - 1};
    size = size + parts[1].Size() * separators;
  }
  return {CappedScale(size.max, kTextFactor), size};
}

// A list function that makes a new list: so much for each of so many elements.
CallEstimate EstimateNewList(double factor, SizeRange elements) {
  return {CappedSum(CappedScale(elements.max, factor), 1 + kListCost), elements};
}

// Sorting by keys of a type: each is compared with each.
CallEstimate EstimateSort(SizeRange elements, Type keys) {
  const bool text = !keys->arguments.empty() && IsText(keys->arguments[0]);
  return EstimateNewList(text ? 2.0 + kTextFactor : 2.0, elements * elements);
}

CallEstimate EstimateSlice(Parts parts) {
  const auto begin = IntegerLiteral(parts[1]).value_or(0);
  const auto end = IntegerLiteral(parts[2]);
  const std::uint64_t last = end ? static_cast<std::uint64_t>(*end) : parts[0].Size().max;
  return EstimateNewList(1, SizeRange::Exactly(last - static_cast<std::uint64_t>(begin)));
}

CallEstimate EstimateFlatten(Parts parts) {
  const auto depth = parts.size() > 1 ? IntegerLiteral(parts[1]).value_or(1) : 1;
  return EstimateNewList(static_cast<double>(depth), parts[0].Size());
}

CallEstimate EstimateSets(Parts parts, double factor) {
  const std::uint64_t pairs = CappedProduct(parts[0].Size().max, parts[1].Size().max);
  return {CappedSum(CappedScale(pairs, factor), 1), {}};
}

// The address, byte by byte, and text that must be parsed first.
CallEstimate EstimateCidr(Parts parts, bool block) {
  const std::uint64_t cost = block ? 4 + 2 + 1 : 4;
  return {CappedSum(cost, IsKind(parts[1].type, Kind::kString) ? TextCost(parts[1]) : 0), {}};
}

CallEstimate EstimateEquality(Parts parts) {
  if (SameType(parts[0].type, parts[1].type) && parts[0].type->form == TypeForm::kConcrete) {
    switch (parts[0].type->kind) {
      case Kind::kQuantity:
      case Kind::kSemver:
      case Kind::kIp:
      case Kind::kCidr:
      case Kind::kUrl:
        return {1, {}};
      case Kind::kFormat:
        return {7, {}};
      default:
        break;
    }
  }
  return {CompareCost(parts[0], parts[1]), {}};
}

CallEstimate SameSize(const Part& text) { return {TextCost(text), text.Size()}; }

// By the function's name; `overload` is one that the arguments' types fit.
struct Rule {
  std::string_view name;
  CallEstimate (*estimate)(Parts parts, const Overload& overload);
};

constexpr auto kElements = [](Parts p, const Overload&) { return EstimateElements(p); };
constexpr auto kSameSize = [](Parts p, const Overload&) { return SameSize(p[0]); };
constexpr auto kRead = [](Parts p, const Overload& o) {
  return IsText(o.parameters[0]) ? CallEstimate{TextCost(p[0]), {}} : CallEstimate{};
};
constexpr auto kPrefix = [](Parts p, const Overload&) { return CallEstimate{TextCost(p[1]), {}}; };
constexpr auto kFind = [](Parts p, const Overload&) {
  return CallEstimate{RegexCost(p[0], p[1]), SizeRange{0, p[0].Size().max}};
};
constexpr auto kOrder = [](Parts p, const Overload& o) {
  return CallEstimate{IsText(o.parameters[0]) ? CompareCost(p[0], p[1]) : 1, {}};
};

constexpr Rule kRules[]{
    {"isSorted", kElements},
    {"sum", kElements},
    {"min", kElements},
    {"max", kElements},
    {"indexOf", kElements},
    {"lastIndexOf", kElements},
    {"url", kSameSize},
    {"quantity", kRead},
    {"isQuantity", kRead},
    {"semver", kRead},
    {"isSemver", kRead},
    {"cidr", kRead},
    {"isCIDR", kRead},
    {"isIP", kRead},
    {"ip", kRead},
    {"ip.isCanonical",
     [](Parts p, const Overload&) { return CallEstimate{CappedScale(p[0].Size().max, 2 * kTextFactor), {}}; }},
    {"lowerAscii", kSameSize},
    {"upperAscii", kSameSize},
    {"substring", kSameSize},
    {"trim", kSameSize},
    {"replace", [](Parts p, const Overload&) { return EstimateReplace(p); }},
    {"split", [](Parts p, const Overload&) { return EstimateSplit(p); }},
    {"join", [](Parts p, const Overload&) { return EstimateJoin(p); }},
    {"find", kFind},
    {"findAll", kFind},
    {"matches", [](Parts p, const Overload&) { return CallEstimate{RegexCost(p[0], p[1]), {}}; }},
    {"startsWith", kPrefix},
    {"endsWith", kPrefix},
    {"contains",
     [](Parts p, const Overload&) { return CallEstimate{CappedProduct(TextCost(p[0]), TextCost(p[1])), {}}; }},
    {"containsIP", [](Parts p, const Overload&) { return EstimateCidr(p, false); }},
    {"containsCIDR", [](Parts p, const Overload&) { return EstimateCidr(p, true); }},
    {"validate",
     [](Parts p, const Overload&) {
       return CallEstimate{CappedScale(TextCost(p[1]), static_cast<double>(kFormatPattern) * kRegexFactor), {}};
     }},
    {"format", [](Parts p, const Overload&) { return CallEstimate{TextCost(p[0]), {}}; }},
    {"strings.quote",
     [](Parts p, const Overload&) {
       const SizeRange text = p[0].Size();
       return CallEstimate{TextCost(p[0]), text + text + SizeRange::Exactly(2)};
     }},
    {"bytes",
     [](Parts p, const Overload& o) {
       if (!IsKind(o.parameters[0], Kind::kString)) return CallEstimate{};
       return CallEstimate{TextCost(p[0]), SizeRange{p[0].Size().min, CappedProduct(p[0].Size().max, 4)}};
     }},
    {"string",
     [](Parts p, const Overload& o) {
       if (!IsKind(o.parameters[0], Kind::kBytes)) return CallEstimate{};
       return CallEstimate{TextCost(p[0]), SizeRange{p[0].Size().min / 4, p[0].Size().max}};
     }},
    {"slice", [](Parts p, const Overload&) { return EstimateSlice(p); }},
    {"flatten", [](Parts p, const Overload&) { return EstimateFlatten(p); }},
    {"lists.range",
     [](Parts p, const Overload&) {
       const auto count = IntegerLiteral(p[0]);
       return EstimateNewList(1, SizeRange::Exactly(count ? static_cast<std::uint64_t>(*count) : kUnbounded));
     }},
    {"reverse", [](Parts p, const Overload&) { return EstimateNewList(1, p[0].Size()); }},
    {"distinct", [](Parts p, const Overload&) { return EstimateNewList(2, p[0].Size() * p[0].Size()); }},
    {"sort", [](Parts p, const Overload& o) { return EstimateSort(p[0].Size(), o.parameters[0]); }},
    {"@sortByAssociatedKeys", [](Parts p, const Overload& o) { return EstimateSort(p[1].Size(), o.parameters[1]); }},
    {"sets.contains", [](Parts p, const Overload&) { return EstimateSets(p, 1); }},
    {"sets.intersects", [](Parts p, const Overload&) { return EstimateSets(p, 1); }},
    {"sets.equivalent", [](Parts p, const Overload&) { return EstimateSets(p, 2); }},
    {"_==_", [](Parts p, const Overload&) { return EstimateEquality(p); }},
    {"_!=_", [](Parts p, const Overload&) { return CallEstimate{CompareCost(p[0], p[1]), {}}; }},
    {"_<_", kOrder},
    {"_<=_", kOrder},
    {"_>_", kOrder},
    {"_>=_", kOrder},
    {"@in",
     [](Parts p, const Overload& o) {
       return CallEstimate{IsKind(o.parameters[1], Kind::kList) ? p[1].Size().max : 1, {}};
     }},
    {"_+_",
     [](Parts p, const Overload& o) {
       const Type type = o.parameters[0];
       const SizeRange size = p[0].Size() + p[1].Size();
       if (IsText(type)) return CallEstimate{CappedScale(size.max, kTextFactor), size};
       return IsKind(type, Kind::kList) ? CallEstimate{1, size} : CallEstimate{};
     }},
};

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
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->name != node.name || node.is_rooted) continue;
      Part part = local->part;
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
    const auto* rule = std::ranges::find(kRules, function, &Rule::name);
    std::uint64_t cost = 0;
    std::optional<SizeRange> size;
    for (const Overload& overload : functions_.Find(function)) {
      if (overload.style != style || !Fits(overload, parts)) continue;
      const CallEstimate call = rule == std::end(kRules) ? CallEstimate{} : rule->estimate(parts, overload);
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
