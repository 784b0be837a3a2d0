// lint/correction.h: what an expression that the API refuses was probably meant to be.
//
// Guides print selectors that never compiled: capacities without a domain, domain and name in one key, version() for
// semver(), quantities compared by >=. Each is put right in the text, so that the rest of it stays as it was written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::lint {

struct Correction {
  std::string expression;
  std::vector<std::string> reasons;  // One sentence each; no sentence twice.
};

// Nothing when there is nothing to put right. `driver` is the domain of names that have none. Whether the result
// compiles is for the caller to find out.
std::optional<Correction> Correct(std::string_view expression, std::string_view driver);

}  // namespace tessera::lint
