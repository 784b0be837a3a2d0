// nvml/vet.h: what a driver may plausibly say.
//
// NVML's answers end up in API objects, in file names and on terminals, and so do recordings that strangers send. Neither
// is trusted: what does not have its form or its range is dropped, and a gap says so.
#pragma once

#include <string_view>

#include "nvml/facts.h"
#include "nvml/vitals.h"

namespace tessera::nvml {

// Drops everything implausible from `machine`, and notes it as a gap of the function it came from.
void Vet(MachineFacts& machine);
void Vet(GpuVitals& gpu);

bool IsGpuUuid(std::string_view text);  // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
bool IsMigUuid(std::string_view text);  // "MIG-<uuid>", or "MIG-GPU-<uuid>/<gi>/<ci>" before R470
bool IsBusId(std::string_view text);    // "00000000:3B:00.0"

// More than any machine, GPU or MIG table has, and far less than a garbled number.
inline constexpr unsigned kMostGpus = 256;
inline constexpr unsigned kMostLinks = 64;
inline constexpr unsigned kMostProfiles = 64;
inline constexpr unsigned kMostMigDevices = 64;
inline constexpr unsigned kMostSlices = 16;

}  // namespace tessera::nvml
