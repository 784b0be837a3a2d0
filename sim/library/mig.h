// sim/library/mig.h: what the other files ask about MIG devices.
#pragma once

#include <string>

#include "sim/library/library.h"
#include "sim/mig.h"

namespace tessera::sim::library {

// "MIG 3g.71gb", or "MIG 1c.3g.71gb" when the compute instance has fewer slices than its GPU instance.
std::string MigName(const Model& model, const MigProfile& profile, unsigned compute_slices);
std::string MigName(const View& v);  // Of a MIG device.

// Tells listeners, as the real driver does, that the instances or the mode of a GPU changed; passes `result` on.
// Without a minor (a fault answered instead) there is nothing to tell.
Return AnnounceMigChange(Return result, std::optional<unsigned> minor);

// How the compute instance is cut, or nothing for a state that does not make sense.
std::optional<CiProfile> FindComputeProfile(const Model& model, const GpuInstance& instance, unsigned profile);

// How many GPU and compute instance profile numbers a library of this header knows.
unsigned ProfileCount(std::string_view header);
unsigned ComputeProfileCount(std::string_view header);

}  // namespace tessera::sim::library
