// tests/alloc/generator.h: allocation problems out of nothing but a number.
#pragma once

#include <cstdint>
#include <string_view>

#include "json/value.h"

namespace tessera::tests {

// The problem of this seed, for DecodeProblem(); the same everywhere and always. Small on purpose: whoever has to
// understand one that fails can read it, and Kubernetes' allocator, which tries every combination, comes to an end.
json::Value GenerateProblem(std::uint64_t seed);

// The same on the machines of sim/profiles, as the driver publishes them; their boards may be cut by the placements of
// sim/models, shared, tainted or held.
json::Value GenerateMachineProblem(std::uint64_t seed);

// The two by name: "small" and "machine".
struct ProblemKind {
  std::string_view name;
  json::Value (*generate)(std::uint64_t seed);
};
inline constexpr ProblemKind kProblemKinds[] = {{"small", GenerateProblem}, {"machine", GenerateMachineProblem}};

}  // namespace tessera::tests
