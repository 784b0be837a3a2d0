// nvml/read_vitals.h: asks NVML for the condition of one GPU.
#pragma once

#include <vector>

#include "nvml/caller.h"
#include "nvml/vitals.h"

namespace tessera::nvml {

// The numbers of the NVLinks a GPU has, or nothing when it does not say. They never change, and asking for all that may be
// takes dozens of calls.
std::optional<std::vector<unsigned>> FindLinks(Caller& call, abi::Device device);

// Fills in all but the identity, vetted. Stops asking when the GPU turns out to be lost.
void ReadVitals(Caller& call, abi::Device device, const std::vector<unsigned>& links, GpuVitals& gpu);

}  // namespace tessera::nvml
