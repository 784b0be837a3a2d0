// driver/health_metrics.h: the health of devices as metrics.
#pragma once

#include <chrono>
#include <vector>

#include "driver/metrics.h"
#include "health/monitor.h"
#include "health/report.h"
#include "nvml/vitals.h"

namespace tessera::driver {

// Each device's state and reasons, and how long ago its GPU was heard of. For each printing.
void ShowHealth(const std::vector<health::DeviceHealth>& report, std::chrono::system_clock::time_point now,
                Metrics& metrics);

void CountTransitions(const std::vector<health::Change>& changes, Metrics& metrics);

// Xids by GPU and code, and events that came too fast.
void CountEvents(const nvml::Observation& seen, Metrics& metrics);

}  // namespace tessera::driver
