// cel/machine.h: the evaluator's insides: operators in evaluator.cc, aggregates and macros in folds.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cel/context.h"
#include "cel/program.h"
#include "cel/value.h"

namespace tessera::cel {

inline constexpr std::size_t kMaxArguments = 4;  // No function has more.

// One evaluation. Recursion is as deep as the tree, which the parser limits.
class Machine {
 public:
  Machine(const Program& program, std::span<Value> slots, Arena& arena, std::uint64_t limit)
      : program_(program), slots_(slots), context_(arena, program.patterns), limit_(limit) {}

  Value Run(StepId id);
  std::uint64_t cost() const { return cost_; }
  bool stopped() const { return stopped_; }               // The cost limit was reached.
  std::uint32_t failed_at() const { return failed_at_; }  // Where the first error arose.

 private:
  struct Element {
    Value first;   // The variable; with two of them key or index.
    Value second;  // The value, with two variables.
  };
  class Range;

  Value Dispatch(const Step& step);
  Value RunDevicePath(const Step& step);
  Value RunLogical(const Step& step, bool decisive);
  Value RunConditional(const Step& step);
  Value RunOptionalOr(const Step& step);
  Value RunVariable(const Step& step);
  Value RunUnary(const Step& step);
  Value RunIndex(const Step& step);
  Value Found(const Value& value);
  Value RunBinary(const Step& step);
  Value RunCall(const Step& step);
  Value RunFailingCall(const CallSite& site, std::span<const Value> arguments, const Value& error);
  static std::uint64_t BinaryCost(const Step& step, const Value& a, const Value& b);
  static Value Ordered(Code code, Order order);
  Value NoOverload(std::string_view name, std::span<const Value> arguments);

  Value RunList(const Step& step);
  Value RunMap(const Step& step);
  Value RunFold(const Step& step);
  Value RunBind(const Step& step);
  Value FoldQuantifier(const Step& step, const Range& range, bool decisive);
  Value FoldExistsOne(const Step& step, const Range& range);
  Value FoldList(const Step& step, const Range& range);
  Value FoldMap(const Step& step, const Range& range);
  Value FoldSortBy(const Step& step, const Range& range);
  Value FoldOptional(const Step& step, const Value& target);
  void Bind(const Step& step, const Element& element);

  bool Charge(std::uint64_t amount);  // False: the limit is reached, and the evaluation ends.
  static Value Stopped();

  const Program& program_;
  std::span<Value> slots_;
  Context context_;
  const std::uint64_t limit_;
  std::uint64_t cost_ = 0;
  bool stopped_ = false;
  bool failed_ = false;
  std::uint32_t failed_at_ = 0;
};

}  // namespace tessera::cel
