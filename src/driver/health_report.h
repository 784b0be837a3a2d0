// driver/health_report.h: what NodeWatchResources says of the node's devices.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "driver/hardware.h"
#include "health/report.h"
#include "kubelet/plugin_server.h"

namespace tessera::driver {

// What health has found of each device, and of devices that the inventory withholds why it does. Of a device that was
// not looked at yet nothing is said, so that a restart of the plugin does not make it Unknown for a moment. While the
// driver does not answer, nobody knows of those that were well.
std::vector<kubelet::DeviceHealth> HealthReport(const std::vector<health::DeviceHealth>& found,
                                                const Hardware& hardware, const std::string& pool,
                                                std::chrono::seconds lease);

}  // namespace tessera::driver
