// inspect/explain_proof.h: which rules an explanation follows, and how far they are known to be the cluster's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/rules.h"

namespace tessera::inspect {

struct ClusterFacts {
  std::string server;                                // Empty: files.
  std::string version;                               // "v1.37.1" or "1.37"; empty: unknown.
  std::optional<std::map<std::string, bool>> gates;  // Of the API server; absent: unknown …
  std::string gates_unknown;                         // … and why.
  std::vector<std::string> gaps;                     // What could not be read.
};

struct Proof {
  alloc::Rules rules;
  std::string release;  // "1.37".
  std::string gates;    // One line.
  std::vector<std::string>
      not_proven;  // Why the answer may differ from the cluster's; empty: compared with its release.
};

// Our allocator is compared with Kubernetes' own of 1.36.4 and 1.37.1, with their default gates. Any other patch release
// of a cluster is not proven, older or newer; nor is one whose gates are unknown.
Proof ProofFor(const ClusterFacts& facts);

// A line of /metrics that says whether a gate is on; nothing for other lines.
std::optional<std::pair<std::string, bool>> GateOf(std::string_view metrics_line);

}  // namespace tessera::inspect
