#include "driver/health_metrics.h"

#include <algorithm>

#include "base/text.h"
#include "nvml/abi.h"

namespace tessera::driver {
namespace {

constexpr std::uint64_t kMostXid = 999;  // NVIDIA's list ends below 200. A label must not take any number.

}  // namespace

void ShowHealth(const std::vector<health::DeviceHealth>& report, std::chrono::system_clock::time_point now,
                Metrics& metrics) {
  metrics.health_state.Clear();
  metrics.health_reason.Clear();
  metrics.health_signal_age.Clear();
  for (const health::DeviceHealth& device : report) {
    metrics.health_state.With({device.device, device.uuid, ToText(device.state)}).Set(1);
    for (const health::ReasonReport& reason : device.reasons) {
      metrics.health_reason.With({device.device, reason.code, ToText(reason.severity)}).Set(1);
    }
    if (!device.looked) continue;
    const std::chrono::duration<double> age = now - *device.looked;
    metrics.health_signal_age.With({device.device}).Set(std::max(age.count(), 0.0));
  }
}

void CountTransitions(const std::vector<health::Change>& changes, Metrics& metrics) {
  for (const health::Change& change : changes) {
    if (change.from != change.to) metrics.health_transitions.With({change.device, ToText(change.to)}).Add();
  }
}

void CountEvents(const nvml::Observation& seen, Metrics& metrics) {
  for (const nvml::GpuEvent& event : seen.events) {
    if (event.type != nvml::abi::kEventXidCritical) continue;
    const std::string code = event.data <= kMostXid ? Format("{}", event.data) : std::string("other");
    metrics.xids.With({event.uuid, code}).Add(static_cast<double>(event.count));
  }
  if (seen.dropped > 0) (*metrics.health_signals_dropped).Add(static_cast<double>(seen.dropped));
}

}  // namespace tessera::driver
