#include "driver/health_report.h"

namespace tessera::driver {

std::vector<kubelet::DeviceHealth> HealthReport(const Hardware& hardware, const std::string& pool) {
  const auto state = hardware.state();
  if (!state) return {};
  const auto failure = hardware.failure();
  const auto now = std::chrono::system_clock::now();
  std::vector<kubelet::DeviceHealth> report;
  for (const device::Device& device : state->snapshot->devices) {
    report.push_back({.pool = pool,
                      .device = device.name,
                      .health = failure ? kubelet::Health::kUnknown : kubelet::Health::kHealthy,
                      .updated = now,
                      .message = failure ? failure->message() : std::string()});
  }
  for (const device::Withheld& withheld : state->snapshot->withheld) {
    if (withheld.code == "Excluded") continue;
    report.push_back({.pool = pool,
                      .device = withheld.name,
                      .health = failure ? kubelet::Health::kUnknown : kubelet::Health::kUnhealthy,
                      .updated = now,
                      .message = withheld.reason});
  }
  return report;
}

}  // namespace tessera::driver
