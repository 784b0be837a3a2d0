// Lists, maps and macros. A macro costs what the loop would that cel-go makes of it: each iteration reads the
// accumulator, asks whether to go on, and builds a new accumulator.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "base/text.h"
#include "cel/arithmetic.h"
#include "cel/cost.h"
#include "cel/machine.h"
#include "cel/map_builder.h"

namespace tessera::cel {
namespace {

constexpr std::uint64_t kReadAccumulator = kSelectCost;
constexpr std::uint64_t kAppend = kReadAccumulator + kListCost + 1;  // accumulator + [x]
constexpr std::uint64_t kInsert = kReadAccumulator + 1;              // insert(accumulator, …)

std::string_view GoTypeName(Kind kind) {
  switch (kind) {
    case Kind::kBool:
      return "types.Bool";
    case Kind::kInt:
      return "types.Int";
    case Kind::kUint:
      return "types.Uint";
    case Kind::kDouble:
      return "types.Double";
    case Kind::kString:
      return "types.String";
    case Kind::kBytes:
      return "types.Bytes";
    case Kind::kSemver:
      return "cel.Semver";
    case Kind::kQuantity:
      return "cel.Quantity";
    case Kind::kOptional:
      return "*types.Optional";
    case Kind::kNull:
      return "types.Null";
    default:
      return TypeName(kind);
  }
}

// The predicate's answer when it is one: true, false, or an error.
Value AsCondition(const Value& value) {
  return value.Is(Kind::kBool) || value.IsError() ? value : Value::Error(kNoSuchOverload);
}

}  // namespace

// What a macro goes through: elements of a list, keys of a map, or pairs.
class Machine::Range {
 public:
  Range(Arena& arena, const Value& value, bool pairs) : arena_(arena), value_(value), pairs_(pairs) {}

  std::size_t Size() const { return value_.Is(Kind::kList) ? value_.AsList().size() : value_.AsMap().Size(); }

  Element At(std::size_t index) const {
    if (value_.Is(Kind::kList)) {
      const Value& item = value_.AsList()[index];
      return pairs_ ? Element{Value::Size(index), item} : Element{item, {}};
    }
    const auto [key, value] = value_.AsMap().At(arena_, index);
    return {key, value};
  }

 private:
  Arena& arena_;
  const Value& value_;
  bool pairs_;
};

Value Machine::RunList(const Step& step) {
  const auto operands = program_.OperandsOf(step);
  const std::span<Value> items = context_.arena.Room<Value>(operands.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Value item = Run(operands[i]);
    if (item.IsError()) return item;
    if (step.data != kNoOptionals && program_.optional_entries[step.data][i]) {
      if (!item.Is(Kind::kOptional)) {
        constexpr std::string_view kWhat = "cannot initialize optional list element from non-optional value";
        return context_.Error(Format("{} {}", kWhat, ForMessage(item)));
      }
      if (item.AsOptional() == nullptr) continue;
      item = *item.AsOptional();
    }
    items[count++] = item;
  }
  return Value::List(items.first(count));
}

Value Machine::RunMap(const Step& step) {
  const auto operands = program_.OperandsOf(step);
  MapBuilder builder(context_.arena, operands.size() / 2);
  for (std::size_t i = 0; i < operands.size(); i += 2) {
    const Value key = Run(operands[i]);
    if (key.IsError()) return key;
    Value value = Run(operands[i + 1]);
    if (value.IsError()) return value;
    if (step.data != kNoOptionals && program_.optional_entries[step.data][i / 2]) {
      if (!value.Is(Kind::kOptional)) {
        return context_.Error(Format("cannot initialize optional entry '{}' from non-optional value {}",
                                     ForMessage(key), ForMessage(value)));
      }
      if (value.AsOptional() == nullptr) continue;
      value = *value.AsOptional();
    }
    if (!IsKey(key)) return context_.Error(Format("unsupported key type: {}", TypeName(key)));
    builder.Set(key, value);  // cel-spec has repeated keys refused; cel-go, and so Kubernetes, takes the last.
  }
  return builder.Build();
}

Value Machine::RunBind(const Step& step) {
  const auto operands = program_.OperandsOf(step);
  slots_[step.data] = Value::Pending(operands[0], false);
  return Run(operands[1]);
}

void Machine::Bind(const Step& step, const Element& element) {
  slots_[step.data] = element.first;
  if (step.two_variables) slots_[step.data + 1] = element.second;
}

Value Machine::RunFold(const Step& step) {
  const Value target = Run(program_.operands[step.first]);
  const bool optional = step.macro == Macro::kOptMap || step.macro == Macro::kOptFlatMap;
  if (optional && !Charge(1)) return Stopped();  // For hasValue(), also of an error.
  if (target.IsError()) return target;
  if (optional) {
    return FoldOptional(step, target);
  }
  if (!target.Is(Kind::kList) && !target.Is(Kind::kMap)) {
    return context_.Error(Format("got '{}', expected iterable type", GoTypeName(target.kind())));
  }
  const Range range(context_.arena, target, step.two_variables);
  switch (step.macro) {
    case Macro::kAll:
      return FoldQuantifier(step, range, false);
    case Macro::kExists:
      return FoldQuantifier(step, range, true);
    case Macro::kExistsOne:
      return FoldExistsOne(step, range);
    case Macro::kTransformMap:
    case Macro::kTransformMapEntry:
      return FoldMap(step, range);
    case Macro::kSortBy:
      return target.Is(Kind::kList) ? FoldSortBy(step, range) : Value::Error(kNoSuchOverload);
    default:
      return FoldList(step, range);
  }
}

// all() and exists(): && and || over the elements, so an element that decides absorbs the errors of others.
Value Machine::FoldQuantifier(const Step& step, const Range& range, bool decisive) {
  const StepId predicate = program_.operands[step.first + 1];
  const std::uint64_t go_on = kReadAccumulator + 1 + (decisive ? 1 : 0);
  Value error;
  const std::size_t size = range.Size();
  for (std::size_t i = 0; i < size; ++i) {
    if (!Charge(go_on + kReadAccumulator)) return Stopped();
    Bind(step, range.At(i));
    const Value answer = AsCondition(Run(predicate));
    if (stopped_) return Stopped();
    if (answer.IsError()) {
      if (!error.IsError()) error = answer;
    } else if (answer.AsBool() == decisive) {
      failed_ = false;
      // The loop notices at the next element, if there is one.
      return Charge(kReadAccumulator + (i + 1 < size ? go_on : 0)) ? answer : Stopped();
    }
  }
  if (!Charge(kReadAccumulator)) return Stopped();
  return error.IsError() ? error : Value::Bool(!decisive);
}

// From here on an error does not end the loop, because cel-go's goes on; its costs count.
Value Machine::FoldExistsOne(const Step& step, const Range& range) {
  const StepId predicate = program_.operands[step.first + 1];
  const std::size_t size = range.Size();
  std::size_t count = 0;
  Value error;
  for (std::size_t i = 0; i < size; ++i) {
    Bind(step, range.At(i));
    const Value answer = AsCondition(Run(predicate));
    if (stopped_) return Stopped();
    if (answer.IsError()) {
      error = answer;
    } else if (answer.AsBool()) {
      ++count;
      if (!Charge(kReadAccumulator + 1)) return Stopped();
    }
  }
  if (!Charge(kReadAccumulator + 1)) return Stopped();
  return error.IsError() ? error : Value::Bool(count == 1);
}

// map(), filter() and transformList().
Value Machine::FoldList(const Step& step, const Range& range) {
  const auto operands = program_.OperandsOf(step).subspan(1);
  const bool filter = step.macro == Macro::kFilter;
  const bool has_predicate = filter || operands.size() == 2;
  const std::size_t size = range.Size();
  const std::span<Value> items = context_.arena.Room<Value>(size);
  std::size_t count = 0;
  Value error;
  for (std::size_t i = 0; i < size; ++i) {
    const Element element = range.At(i);
    Bind(step, element);
    const Value wanted = has_predicate ? AsCondition(Run(operands[0])) : Value::Bool(true);
    if (wanted.IsError()) error = wanted;
    if (!wanted.IsTrue()) continue;
    if (!Charge(kAppend + (filter ? kSelectCost : 0))) return Stopped();
    const Value item = filter ? element.first : Run(operands.back());
    if (stopped_) return Stopped();
    if (item.IsError() && !error.IsError()) error = item;
    items[count++] = item;
  }
  if (stopped_ || !Charge(kReadAccumulator)) return Stopped();
  return error.IsError() ? error : Value::List(items.first(count));
}

// transformMap() and transformMapEntry().
Value Machine::FoldMap(const Step& step, const Range& range) {
  const auto operands = program_.OperandsOf(step).subspan(1);
  std::vector<MapView::Entry> entries;
  for (std::size_t i = 0; i < range.Size(); ++i) {
    const Element element = range.At(i);
    Bind(step, element);
    const Value wanted = operands.size() == 2 ? AsCondition(Run(operands[0])) : Value::Bool(true);
    if (wanted.IsError()) return wanted;
    if (!wanted.AsBool()) continue;
    if (!Charge(kInsert + (step.macro == Macro::kTransformMap ? kSelectCost : 0))) return Stopped();
    const Value result = Run(operands.back());
    if (result.IsError()) return result;
    if (step.macro == Macro::kTransformMap) {
      entries.push_back({element.first, result});
      continue;
    }
    if (!result.Is(Kind::kMap)) return Value::Error(kNoSuchOverload);
    for (std::size_t j = 0; j < result.AsMap().Size(); ++j) entries.push_back(result.AsMap().At(context_.arena, j));
  }
  if (!Charge(kReadAccumulator)) return Stopped();
  MapBuilder builder(context_.arena, entries.size());
  for (const auto& [key, value] : entries) {
    if (!builder.Add(key, value))
      return context_.Error(Format("insert failed: key {} already exists", ForMessage(key)));
  }
  return builder.Build();
}

Value Machine::FoldSortBy(const Step& step, const Range& range) {
  const StepId key = program_.operands[step.first + 1];
  const std::size_t size = range.Size();
  const std::span<Value> keys = context_.arena.Room<Value>(size);
  if (!Charge(3 * kSelectCost)) return Stopped();
  for (std::size_t i = 0; i < size; ++i) {
    Bind(step, range.At(i));
    keys[i] = Run(key);
    if (keys[i].IsError()) return keys[i];
    if (!Charge(kAppend)) return Stopped();
    if (Compare(keys[i], keys[i]) == Order::kNoOverload || keys[i].kind() != keys[0].kind()) {
      return Value::Error("list elements must have the same type");
    }
  }
  if (!Charge(step.ambiguous ? 1 : SelfCompareCost(Value::List(keys)))) return Stopped();
  const std::span<std::size_t> order = context_.arena.Room<std::size_t>(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return Compare(keys[a], keys[b]) == Order::kLess; });
  const std::span<Value> items = context_.arena.Room<Value>(size);
  for (std::size_t i = 0; i < size; ++i) items[i] = range.At(order[i]).first;
  return Value::List(items);
}

// cel-go asks for the target twice: whether it has a value, and, when the body uses the variable, for the value.
Value Machine::FoldOptional(const Step& step, const Value& target) {
  if (!target.Is(Kind::kOptional)) return Value::Error(kNoSuchOverload);
  if (target.AsOptional() == nullptr) return Charge(1) ? Value::None() : Stopped();
  slots_[step.data] = Value::Pending(program_.operands[step.first], true);
  const Value result = Run(program_.operands[step.first + 1]);
  if (result.IsError() || step.macro == Macro::kOptFlatMap) return result;
  return Charge(1) ? context_.Some(result) : Stopped();
}

}  // namespace tessera::cel
