// health/watched_node.h: a monitor with GPUs under it that tests make ill, and time that passes when they say so.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "health/test_parts.h"

namespace tessera::health {

inline constexpr std::chrono::seconds kPoll{5};

// A node whose GPUs are looked at every five seconds.
class Node {
 public:
  explicit Node(const device::Snapshot& snapshot, std::string_view policy = {})
      : monitor(Policy::Parse(policy).value()) {
    monitor.SetDevices(snapshot, now());
    for (const auto& device : snapshot.devices) {
      if (gpus.empty() || gpus.back().uuid != device.gpu.uuid) gpus.push_back(GoodVitals(device.gpu.minor));
    }
    Look();
  }

  Moment now() const { return At(passed); }
  // Looks once, now.
  std::vector<Change> Look() {
    monitor.Observe(MachineOf(gpus), now());
    return monitor.Tick(now());
  }
  void Pass(std::chrono::seconds span) {
    for (const std::chrono::seconds end = passed + span; passed < end;) {
      passed += kPoll;
      Look();
    }
  }
  std::vector<Change> Xid(unsigned gpu, std::uint64_t code) {
    monitor.Observe(XidEvent(gpu, code), now());
    return monitor.Tick(now());
  }

  State StateOf(std::string_view device) const { return Of(device).state; }
  const DeviceHealth& Of(std::string_view device) const {
    const DeviceHealth* health = monitor.Find(device);
    if (health == nullptr) Abort(Format("there is no {}", device));
    return *health;
  }
  std::vector<std::string> Codes(std::string_view device) const {
    std::vector<std::string> codes;
    for (const ReasonReport& reason : Of(device).reasons) codes.push_back(reason.code);
    return codes;
  }

  Monitor monitor;
  std::vector<nvml::GpuVitals> gpus;
  std::chrono::seconds passed{0};
};

}  // namespace tessera::health
