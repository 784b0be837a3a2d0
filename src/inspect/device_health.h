// inspect/device_health.h: what the kubelet plugin last wrote down about the health of this machine's devices.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/snapshot.h"
#include "health/report.h"
#include "health/terms.h"

namespace tessera::inspect {

struct HealthPlaces {
  std::filesystem::path plugin_dir;
  std::filesystem::path verdicts;  // Empty: none are read.
  std::string boot_id;
};

// Its files are read instead of asking it: that needs no port, and works while it is down. Devices with something against
// them, lost ones among them. Empty also when there is no plugin.
Result<std::vector<health::DeviceHealth>> ReadDeviceHealth(const HealthPlaces& places, const device::Snapshot& snapshot,
                                                           health::Moment now);

}  // namespace tessera::inspect
