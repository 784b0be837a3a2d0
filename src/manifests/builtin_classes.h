// manifests/builtin_classes.h: the DeviceClasses that our Helm chart installs, for where there is no cluster.
#pragma once

#include <vector>

#include "api/claim_spec.h"

namespace tessera::manifests {

// gpu.nvidia.com and mig.nvidia.com. A test holds them equal to the chart.
std::vector<api::DeviceClass> BuiltinClasses();

}  // namespace tessera::manifests
