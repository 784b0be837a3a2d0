// cmd/tessera-kubelet-plugin/feature_gates.h: the Go driver's --feature-gates, so that its deployments start unchanged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera::cmd {

struct FeatureGates {
  std::vector<std::string> not_served;  // Switched on, but nothing this version does.
};

// "A=true,B=false,": names of the Go driver and of Kubernetes' logging; a trailing comma is what its chart writes.
Result<FeatureGates> ParseFeatureGates(std::string_view text);

}  // namespace tessera::cmd
