// tests/alloc/case_file.h: allocation problems that people write, with the answer they expect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "json/value.h"

namespace tessera::tests {

// tests/testdata/alloc/README.md says how a case is written.
struct AllocationCase {
  std::string name;
  std::vector<std::string> releases;   // "1.36", "1.37".
  json::Value problem;                 // For DecodeProblem().
  std::string want;                    // As AnswerOf(), without the hash; empty when an error is wanted.
  std::string error;                   // The message.
  std::optional<std::string> details;  // As DetailsOf().
  std::optional<std::uint64_t> steps;  // Without pruning.
};

// All cases of a file below tests/testdata/alloc.
Result<std::vector<AllocationCase>> ReadCases(const std::string& file);

}  // namespace tessera::tests
