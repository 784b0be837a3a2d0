#include "driver/health_report.h"

#include <algorithm>

namespace tessera::driver {
namespace {

kubelet::Health ToKubelet(health::Health health) {
  switch (health) {
    case health::Health::kHealthy:
      return kubelet::Health::kHealthy;
    case health::Health::kUnhealthy:
      return kubelet::Health::kUnhealthy;
    case health::Health::kUnknown:
      break;
  }
  return kubelet::Health::kUnknown;
}

// Excluded devices are somebody else's. What health has something to say of it says itself.
bool IsOurs(const device::Withheld& withheld, const std::vector<kubelet::DeviceHealth>& report) {
  return withheld.code != "Excluded" &&
         std::ranges::find(report, withheld.name, &kubelet::DeviceHealth::device) == report.end();
}

}  // namespace

std::vector<kubelet::DeviceHealth> HealthReport(const std::vector<health::DeviceHealth>& found,
                                                const Hardware& hardware, const std::string& pool,
                                                std::chrono::seconds lease) {
  const auto now = std::chrono::system_clock::now();
  const auto failure = hardware.failure();
  std::vector<kubelet::DeviceHealth> report;
  for (const health::DeviceHealth& device : found) {
    if (!device.looked && device.reasons.empty()) continue;
    auto& added = report.emplace_back(kubelet::DeviceHealth{.pool = pool,
                                                            .device = device.device,
                                                            .health = ToKubelet(device.health),
                                                            .updated = device.looked.value_or(now),
                                                            .lease = lease,
                                                            .message = device.message});
    if (failure && added.health == kubelet::Health::kHealthy) {
      added.health = kubelet::Health::kUnknown;
      added.message = failure->message();
    }
  }
  const auto state = hardware.state();
  if (!state) return report;
  for (const device::Withheld& withheld : state->snapshot->withheld) {
    if (!IsOurs(withheld, report)) continue;
    report.push_back({.pool = pool,
                      .device = withheld.name,
                      .health = failure ? kubelet::Health::kUnknown : kubelet::Health::kUnhealthy,
                      .updated = now,
                      .lease = lease,
                      .message = withheld.reason});
  }
  return report;
}

}  // namespace tessera::driver
