// nvml/read.h: asks NVML everything the inventory wants to know.
#pragma once

#include <vector>

#include "base/error.h"
#include "nvml/caller.h"

namespace tessera::nvml {

// Reads all GPUs through an initialised library, and vets what it says (vet.h). A GPU that does not answer is in the
// result with gaps. Fails only when the number of GPUs cannot be had.
Result<MachineFacts> ReadMachine(const Api& api, const std::vector<Avoid>& avoid, Progress& progress);

}  // namespace tessera::nvml
