#include "cel/estimate_call.h"

#include <algorithm>
#include <string>

#include "cel/cost.h"
#include "cel/library.h"
#include "cel/substitution.h"

namespace tessera::cel {
namespace {

constexpr double kTextFactor = 0.1;
constexpr double kRegexFactor = 0.25;
constexpr std::uint64_t kFormatPattern = 128;  // The longest pattern of a named format, as Kubernetes reckons.

bool IsText(Type type) { return IsKind(type, Kind::kString) || IsKind(type, Kind::kBytes); }

std::uint64_t TextCost(const Part& part) { return CappedScale(part.Size().max, kTextFactor); }

std::uint64_t RegexCost(const Part& text, const Part& pattern) {
  return CappedProduct(CappedScale(CappedSum(text.Size().max, 1), kTextFactor),
                       CappedScale(pattern.Size().max, kRegexFactor));
}

std::uint64_t CompareCost(const Part& a, const Part& b) {
  return CappedScale(std::min(a.Size().max, b.Size().max), kTextFactor);
}

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

// As if it were a list, whatever it is: one step for each element. 1.36 reckons with the longest list that it takes, and
// charges one step, which tells its overload.
CallEstimate EstimateIncludes(Parts parts, const Overload& overload) {
  if (overload.cost == CostRule::kOne) return {kMaxIncludes, {}};
  if (!parts[0].type->arguments.empty()) return EstimateElements(parts);
  return {parts[0].Size().max, {}};
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
  // The elements' size is not known. Of a device's list not even their type is, and then Kubernetes leaves them out.
  SizeRange size = parts[0].type->arguments.empty() ? SizeRange{0, 0} : list * SizeRange{};
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
    {"includes", EstimateIncludes},
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

}  // namespace

CallEstimate EstimateCall(std::string_view function, Parts parts, const Overload& overload) {
  const auto* rule = std::ranges::find(kRules, function, &Rule::name);
  return rule == std::end(kRules) ? CallEstimate{} : rule->estimate(parts, overload);
}

}  // namespace tessera::cel
