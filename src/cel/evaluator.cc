#include "cel/evaluator.h"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "base/text.h"
#include "cel/access.h"
#include "cel/arithmetic.h"
#include "cel/cost.h"
#include "cel/device_maps.h"
#include "cel/machine.h"

namespace tessera::cel {
namespace {

constexpr std::size_t kFewSlots = 8;

constexpr std::string_view kCostExceeded = "operation cancelled: actual cost limit exceeded";
constexpr std::string_view kMemoryExceeded = "operation cancelled: the expression needs too much memory or time";

bool IsText(const Value& value) { return value.Is(Kind::kString) || value.Is(Kind::kBytes); }

Outcome Guarded(Machine& machine, StepId step) {
  Outcome outcome;
  try {
    outcome.value = machine.Run(step);
  } catch (const std::bad_alloc&) {
    outcome.value = Value::Error(kMemoryExceeded);
    outcome.limit_reached = true;
  }
  outcome.limit_reached = outcome.limit_reached || machine.stopped();
  outcome.cost = machine.cost();
  outcome.offset = machine.failed_at();
  return outcome;
}

// cel-go asks the type of the first operand whether it has the operator at all, unless it has methods of its own. Only
// then it looks at the other one.
bool KnowsOperator(const Value& operand, Code code) {
  if (code == Code::kEqual || code == Code::kNotEqual || code == Code::kIn) return true;
  const bool orders =
      code == Code::kLess || code == Code::kLessOrEqual || code == Code::kGreater || code == Code::kGreaterOrEqual;
  switch (operand.kind()) {
    case Kind::kString:
    case Kind::kTimestamp:
    case Kind::kDuration:
    case Kind::kInt:
      return true;
    case Kind::kUint:
      return code != Code::kNegate;
    case Kind::kDouble:
      return code != Code::kModulo;
    case Kind::kBool:
      return orders || code == Code::kNegate;
    case Kind::kBytes:
      return orders || code == Code::kAdd;
    case Kind::kList:
      return code == Code::kAdd;
    default:
      return false;
  }
}

Value WithoutOperator(Code code) {
  switch (code) {
    case Code::kAdd:
      return Value::Error("no such overload: _+_");
    case Code::kSubtract:
      return Value::Error("no such overload: _-_");
    case Code::kMultiply:
      return Value::Error("no such overload: _*_");
    case Code::kDivide:
      return Value::Error("no such overload: _/_");
    case Code::kModulo:
      return Value::Error("no such overload: _%_");
    case Code::kNegate:
      return Value::Error("no such overload: -_");
    case Code::kLess:
      return Value::Error("no such overload: _<_");
    case Code::kLessOrEqual:
      return Value::Error("no such overload: _<=_");
    case Code::kGreater:
      return Value::Error("no such overload: _>_");
    default:
      return Value::Error("no such overload: _>=_");
  }
}

}  // namespace

Value Machine::Run(StepId id) {
  const Step& step = program_.steps[id];
  if (!Charge(step.cost)) return Stopped();
  Value value = Dispatch(step);
  if (value.IsError() && !failed_) {
    failed_ = true;
    failed_at_ = step.offset;
  }
  return value;
}

bool Machine::Charge(std::uint64_t amount) {
  if (amount > limit_ - cost_) {
    cost_ = limit_;
    stopped_ = true;
  } else {
    cost_ += amount;
  }
  return !stopped_;
}

Value Machine::Stopped() { return Value::Error(kCostExceeded); }

Value Machine::Dispatch(const Step& step) {
  switch (step.code) {
    case Code::kConstant:
      return program_.constants[step.data];
    case Code::kFail:
      return Value::Error(program_.constants[step.data].AsText());
    case Code::kVariable:
      return RunVariable(step);
    case Code::kIndex:
    case Code::kOptionalIndex:
      return RunIndex(step);
    case Code::kDeviceAttribute:
    case Code::kDeviceCapacity:
      return RunDevicePath(step);
    case Code::kAnd:
      return RunLogical(step, false);
    case Code::kOr:
      return RunLogical(step, true);
    case Code::kConditional:
      return RunConditional(step);
    case Code::kOptionalOr:
    case Code::kOptionalOrValue:
      return RunOptionalOr(step);
    case Code::kSelect:
    case Code::kOptionalSelect:
    case Code::kHas:
    case Code::kNot:
    case Code::kNegate:
      return RunUnary(step);
    case Code::kCall:
      return RunCall(step);
    case Code::kList:
      return RunList(step);
    case Code::kMap:
      return RunMap(step);
    case Code::kFold:
      return RunFold(step);
    case Code::kBind:
      return RunBind(step);
    default:
      return RunBinary(step);
  }
}

Value Machine::RunDevicePath(const Step& step) {
  const DeviceFacts& device = slots_[step.first].AsDevice();
  const std::string_view domain = program_.constants[step.data].AsText();
  const std::string_view id = program_.constants[step.data + 1].AsText();
  const auto found = step.code == Code::kDeviceAttribute ? FindAttribute(context_.arena, device, domain, id)
                                                         : FindCapacity(device, domain, id);
  return found ? *found : context_.Error(Format("no such key: {}", id));
}

// An operand that decides wins over errors, wherever these are; the first error is reported when none decides.
Value Machine::RunLogical(const Step& step, bool decisive) {
  Value error;
  for (const StepId operand : program_.OperandsOf(step)) {
    const Value value = Run(operand);
    if (stopped_) return Stopped();
    if (value.Is(Kind::kBool) && value.AsBool() == decisive) {
      failed_ = false;
      return value;
    }
    if (value.Is(Kind::kBool) || error.IsError()) continue;
    error = value.IsError() ? value : Value::Error(kNoSuchOverload);
  }
  return error.IsError() ? error : Value::Bool(!decisive);
}

Value Machine::RunConditional(const Step& step) {
  const auto operands = program_.OperandsOf(step);
  const Value condition = Run(operands[0]);
  if (condition.IsError()) return condition;
  if (!condition.Is(Kind::kBool)) return Value::Error(kNoSuchOverload);
  return Run(operands[condition.AsBool() ? 1 : 2]);
}

Value Machine::RunOptionalOr(const Step& step) {
  const auto operands = program_.OperandsOf(step);
  const Value first = Run(operands[0]);
  if (first.IsError()) return first;
  if (!first.Is(Kind::kOptional)) return Value::Error(kNoSuchOverload);
  const bool unwrap = step.code == Code::kOptionalOrValue;
  if (first.AsOptional() != nullptr) return unwrap ? *first.AsOptional() : first;
  const Value second = Run(operands[1]);
  return unwrap || second.IsError() || second.Is(Kind::kOptional) ? second : Value::Error(kNoSuchOverload);
}

Value Machine::RunVariable(const Step& step) {
  Value& slot = slots_[step.data];
  if (!slot.Is(Kind::kPending)) return slot;
  const Value pending = slot;
  const Value value = Run(pending.PendingStep());
  if (!pending.PendingUnwraps()) return slot = value;
  if (!Charge(1)) return Stopped();
  // The target had a value when the macro began, and nothing changes in between.
  return slot = value.IsError() ? value : *value.AsOptional();
}

Value Machine::RunUnary(const Step& step) {
  const Value operand = Run(program_.operands[step.first]);
  const bool operation = step.code == Code::kNot || step.code == Code::kNegate;
  if (operation && !Charge(1)) return Stopped();
  if (operand.IsError()) return operand;
  switch (step.code) {
    case Code::kSelect:
      return Found(Select(context_, operand, program_.constants[step.data]));
    case Code::kOptionalSelect:
      return Found(OptionalSelect(context_, operand, program_.constants[step.data]));
    case Code::kHas:
      return Has(context_, operand, program_.constants[step.data]);
    case Code::kNegate:
      return KnowsOperator(operand, step.code) ? Negate(operand) : WithoutOperator(step.code);
    default:
      return operand.Is(Kind::kBool) ? Value::Bool(!operand.AsBool()) : Value::Error(kNoSuchOverload);
  }
}

// A selection costs, unless it was optional and found nothing.
Value Machine::Found(const Value& value) {
  const bool none = value.Is(Kind::kOptional) && value.AsOptional() == nullptr;
  return none || Charge(kSelectCost) ? value : Stopped();
}

Value Machine::RunIndex(const Step& step) {
  const Value operand = Run(program_.operands[step.first]);
  if (operand.IsError()) return operand;
  const Value key = Run(program_.operands[step.first + 1]);
  if (key.IsError()) return Found(key);
  return Found(step.code == Code::kIndex ? Index(context_, operand, key) : OptionalIndex(context_, operand, key));
}

// Both operands are evaluated and the operation is charged, also when one of them is an error.
Value Machine::RunBinary(const Step& step) {
  const Value a = Run(program_.operands[step.first]);
  if (stopped_) return Stopped();
  const Value b = Run(program_.operands[step.first + 1]);
  const bool is_free = step.code == Code::kIn && step.data == 1;
  if (!Charge(is_free ? 0 : BinaryCost(step, a, b))) return Stopped();
  if (a.IsError() || b.IsError()) return a.IsError() ? a : b;
  if (!KnowsOperator(a, step.code)) return WithoutOperator(step.code);
  switch (step.code) {
    case Code::kEqual: {
      const Equality equality = Equal(context_.arena, a, b);
      if (equality == Equality::kNoOverload) return Value::Error(kNoSuchOverload);
      return Value::Bool(equality == Equality::kEqual);
    }
    case Code::kNotEqual:
      return Value::Bool(Equal(context_.arena, a, b) != Equality::kEqual);
    case Code::kIn:
      return In(context_, a, b);
    case Code::kAdd:
      return Add(context_, a, b);
    case Code::kSubtract:
      return Subtract(a, b);
    case Code::kMultiply:
      return Multiply(a, b);
    case Code::kDivide:
      return Divide(a, b);
    case Code::kModulo:
      return Modulo(a, b);
    default:
      return Ordered(step.code, Compare(a, b));
  }
}

std::uint64_t Machine::BinaryCost(const Step& step, const Value& a, const Value& b) {
  if (step.code == Code::kEqual && a.kind() >= Kind::kQuantity) return 1;  // Of Kubernetes' own types.
  if (step.code == Code::kEqual || step.code == Code::kNotEqual) return EqualityCost(a, b);
  if (step.ambiguous) return 1;
  switch (step.code) {
    case Code::kIn:
      return b.Is(Kind::kList) ? b.AsList().size() : 1;
    case Code::kAdd:
      return IsText(a) || IsText(b) ? TraversalCost(SizeForCost(a) + SizeForCost(b)) : 1;
    case Code::kLess:
    case Code::kLessOrEqual:
    case Code::kGreater:
    case Code::kGreaterOrEqual:
      return OrderCost(a, b);
    default:
      return 1;
  }
}

Value Machine::Ordered(Code code, Order order) {
  if (order == Order::kNoOverload) return Value::Error(kNoSuchOverload);
  if (order == Order::kNotANumber) return Value::Error("NaN values cannot be ordered");
  switch (code) {
    case Code::kLess:
      return Value::Bool(order == Order::kLess);
    case Code::kLessOrEqual:
      return Value::Bool(order != Order::kGreater);
    case Code::kGreater:
      return Value::Bool(order == Order::kGreater);
    default:
      return Value::Bool(order != Order::kLess);
  }
}

// With up to two arguments all of them are evaluated and the call is charged, even when one is an error; with more the
// first error ends it. So does cel-go.
Value Machine::RunCall(const Step& step) {
  const auto operands = program_.OperandsOf(step);
  std::array<Value, kMaxArguments> arguments;
  if (operands.size() > arguments.size()) return Value::Error(kNoSuchOverload);
  Value error;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    arguments[i] = Run(operands[i]);
    if (stopped_) return Stopped();
    if (!arguments[i].IsError()) continue;
    if (operands.size() > 2 || step.lazy) return arguments[i];
    if (!error.IsError()) error = arguments[i];
  }
  const CallSite& site = program_.calls[step.data];
  const auto given = std::span(arguments).first(operands.size());
  const Overload* overload = error.IsError() ? nullptr : Match(site.overloads, site.style, given);
  if (overload == nullptr) return RunFailingCall(site, given, error);
  const bool unknown = step.ambiguous && (overload->is_standard || overload->cost == CostRule::kSelfCompare);
  const CostRule rule = unknown ? CostRule::kOne : overload->cost;
  // Before the work is done, where its size is known by then.
  const bool by_result = rule == CostRule::kBuildResult || rule == CostRule::kNewList;
  if (!by_result && !Charge(CallCost(rule, given, Value()))) return Stopped();
  const Value result = overload->run(context_, given);
  return !by_result || Charge(CallCost(rule, given, result)) ? result : Stopped();
}

Value Machine::RunFailingCall(const CallSite& site, std::span<const Value> arguments, const Value& error) {
  const auto likely = std::ranges::find_if(site.overloads, [&](const Overload& overload) {
    return overload.style == site.style && overload.parameters.size() == arguments.size();
  });
  if (likely == site.overloads.end()) return Value::Error(kNoSuchOverload);
  const Value result = error.IsError()       ? error
                       : likely->is_standard ? Value::Error(kNoSuchOverload)
                                             : NoOverload(site.name, arguments);
  return Charge(CallCost(likely->cost, arguments, result)) ? result : Stopped();
}

Value Machine::NoOverload(std::string_view name, std::span<const Value> arguments) {
  std::vector<std::string> types;
  for (const Value& argument : arguments) types.emplace_back(TypeName(argument));
  return context_.Error(Format("no such overload: {}({})", name, Join(types, ", ")));
}

Outcome Evaluate(const Program& program, std::span<const Value> variables, Arena& arena, std::uint64_t cost_limit) {
  std::array<Value, kFewSlots> few;
  std::vector<Value> many(program.slots > kFewSlots ? program.slots : 0);
  const std::span<Value> slots = many.empty() ? std::span<Value>(few) : std::span<Value>(many);
  std::ranges::copy(variables, slots.begin());
  Machine machine(program, slots, arena, cost_limit);
  return Guarded(machine, program.root);
}

Outcome EvaluateStep(const Program& program, StepId step, Arena& arena, std::uint64_t cost_limit) {
  Machine machine(program, {}, arena, cost_limit);
  return Guarded(machine, step);
}

}  // namespace tessera::cel
