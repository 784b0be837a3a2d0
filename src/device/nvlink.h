// device/nvlink.h: which GPUs reach each other over NVLink.
#pragma once

#include <string>
#include <vector>

#include "nvml/facts.h"

namespace tessera::device {

// For each GPU of `gpus`, its island; empty for one without NVLink. Equal texts mean "reach each other":
// - on a fabric that spans machines, cluster UUID and clique ("<uuid>.<clique>"): equal on all its machines;
// - else the lowest UUID of the GPUs that links join, directly or through switches.
// A GPU in MIG mode is in no island, because MIG devices cannot use NVLink; nor is one that its fabric did not register.
std::vector<std::string> NvLinkIslands(const std::vector<nvml::GpuFacts>& gpus);

// NVML's number for an NVLink generation as a version: 6 is "4.0.0". Empty when not known.
std::string NvLinkVersion(unsigned nvml_version);

}  // namespace tessera::device
