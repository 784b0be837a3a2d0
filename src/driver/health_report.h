// driver/health_report.h: what NodeWatchResources says of the node's devices.
#pragma once

#include <string>
#include <vector>

#include "driver/hardware.h"
#include "kubelet/plugin_server.h"

namespace tessera::driver {

// As far as the inventory knows: a device that answered the last scan is healthy, one that is withheld is not, and when
// the scan failed nobody knows. Events and counters of NVML come on top of it with src/health.
std::vector<kubelet::DeviceHealth> HealthReport(const Hardware& hardware, const std::string& pool);

}  // namespace tessera::driver
