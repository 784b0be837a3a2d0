// tests/alloc/generator.h: allocation problems out of nothing but a number.
#pragma once

#include <cstdint>

#include "json/value.h"

namespace tessera::tests {

// The problem of this seed, for DecodeProblem(); the same everywhere and always. Small on purpose: whoever has to
// understand one that fails can read it, and Kubernetes' allocator, which tries every combination, comes to an end.
json::Value GenerateProblem(std::uint64_t seed);

}  // namespace tessera::tests
