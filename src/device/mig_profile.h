// device/mig_profile.h: names of MIG profiles: "1g.10gb", "2g.20gb+me", "1c.3g.40gb".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nvml/facts.h"

namespace tessera::device {

// The name that nvidia-smi prints for a MIG device: compute slices only when they are fewer than the GPU instance's,
// gigabytes as an eighth of the GPU's memory, and a suffix that follows from the profile number. A number nobody knows
// yet gets no suffix.
std::string MigProfileName(const nvml::MigProfileFacts& profile, unsigned compute_slices,
                           std::uint64_t gpu_memory_bytes);

// The name as part of a device name: lower case, dots dropped, everything else that is not alphanumeric a dash:
// "1g.10gb+me" is "1g10gb-me".
std::string MigProfileLabel(std::string_view name);

}  // namespace tessera::device
