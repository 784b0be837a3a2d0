// tests/support/slice_rules.h: the API server's rules for ResourceSlices that its OpenAPI document does not hold.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace tessera::tests {

// What validation (Kubernetes 1.34 to 1.37) would refuse in the slices of one pool: limits, names, values, versions,
// quantities, and what only the scheduler checks (unique names in the pool, slice count).
std::vector<std::string> SliceFaults(const std::vector<json::Value>& slices);

}  // namespace tessera::tests
