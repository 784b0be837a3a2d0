// cel/evaluator.h: runs a program.
#pragma once

#include <cstdint>
#include <span>

#include "cel/arena.h"
#include "cel/program.h"
#include "cel/value.h"

namespace tessera::cel {

struct Outcome {
  Value value;                 // Valid as long as arena, program and variables are.
  std::uint64_t cost = 0;      // In Kubernetes' units.
  std::uint32_t offset = 0;    // With an error: where in the expression it came from.
  bool limit_reached = false;  // The error is that cost or memory ran out.
};

constexpr std::uint64_t kNoCostLimit = UINT64_MAX;

// `variables` are in the order in which the program was generated for them. Never throws: when memory or cost run out,
// the value is an error.
Outcome Evaluate(const Program& program, std::span<const Value> variables, Arena& arena,
                 std::uint64_t cost_limit = kNoCostLimit);

// For folding constants: one step whose operands are constants.
Outcome EvaluateStep(const Program& program, StepId step, Arena& arena, std::uint64_t cost_limit);

}  // namespace tessera::cel
