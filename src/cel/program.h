// cel/program.h: an expression ready to be evaluated: steps in one vector, names resolved, constants computed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/arena.h"
#include "cel/ast.h"
#include "cel/context.h"
#include "cel/function.h"
#include "cel/value.h"

namespace tessera::cel {

using StepId = std::uint32_t;

enum class Code : std::uint8_t {
  kConstant,         // data: constant
  kFail,             // data: constant, the message
  kVariable,         // data: slot
  kSelect,           // operand; data: constant, the field
  kOptionalSelect,   // e.?f
  kHas,              // has(e.f)
  kIndex,            // operand, key
  kOptionalIndex,    // e[?k]
  kDeviceAttribute,  // device.attributes[domain].id; data: constants domain, id; first: the device's slot
  kDeviceCapacity,
  kAnd,
  kOr,
  kNot,
  kConditional,
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kIn,  // data: 1 when the list is a literal, which cel-go turns into a set that costs nothing
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kNegate,
  kOptionalOr,       // o.or(p): p only when o is none
  kOptionalOrValue,  // o.orValue(x)
  kCall,             // data: call site
  kList,             // operands: elements; data: constant, which of them are optional, or kNoOptionals
  kMap,              // operands: keys and values
  kFold,             // operands: range, expressions; data: first slot; macro
  kBind,             // operands: initial value, computed when it is first used; body; data: slot
};

constexpr std::uint32_t kNoOptionals = UINT32_MAX;

struct Step {
  Code code = Code::kConstant;
  Macro macro = Macro::kAll;
  bool two_variables = false;
  bool ambiguous = false;  // Several overloads may serve it; cel-go then charges 1 for what it would know better.
  bool lazy = false;       // kCall: an argument that is an error ends it, uncharged.
  std::uint32_t cost = 0;  // Charged when the step begins, whatever happens in it.
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // Operands: program.operands[first, first + count)
  std::uint32_t data = 0;
  std::uint32_t offset = 0;  // Where in the text it came from.
};

struct CallSite {
  std::string_view name;
  Style style = Style::kGlobal;
  std::span<const Overload> overloads;  // Of the environment's FunctionSet, which lives as long as the process.
};

// Immutable once made, so any number of threads may evaluate it.
struct Program {
  std::vector<Step> steps;
  std::vector<StepId> operands;
  std::vector<Value> constants;
  std::vector<CallSite> calls;
  std::vector<std::vector<bool>> optional_entries;
  PatternSet patterns;
  std::unique_ptr<Arena> memory = std::make_unique<Arena>();  // Holds what the constants point to.
  // Why Kubernetes would not make a program of it: the conversion of a constant that fails. Usually empty.
  std::string fault;
  StepId root = 0;
  std::uint32_t slots = 0;  // Variables of the environment, then those of macros.

  std::span<const StepId> OperandsOf(const Step& step) const {
    return std::span(operands).subspan(step.first, step.count);
  }
};

}  // namespace tessera::cel
