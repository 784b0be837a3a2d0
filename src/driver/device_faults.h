// driver/device_faults.h: what Prepare finds wrong with a device, on its way to health and, as a taint, to the scheduler.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/prepared_claim.h"
#include "base/error.h"
#include "driver/hardware.h"
#include "driver/health_watch.h"
#include "driver/publisher.h"

namespace tessera::driver {

struct DeviceFault {
  api::PreparedDevice device;
  Error error;
};

// The devices of the claim for which no CDI spec can be made, each with its own fault.
std::vector<DeviceFault> FindDeviceFaults(const api::PreparedClaim& claim, const HardwareState& hardware);

// What Preparer needs of health. Safe to call from any thread.
class DeviceFaults {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  virtual ~DeviceFaults() = default;

  // Why the device is lost, in health's words; nothing when it may work.
  virtual std::optional<Error> Lost(std::string_view device) const = 0;
  // Changes with health's opinion of the device.
  virtual std::string Words(std::string_view device) const = 0;
  // Tells health, and waits until the API server has the taint that follows: KEP-5322 wants it there before the kubelet
  // has the error, or the next pod gets the same device. Not beyond `deadline`; then the taint follows. The faults come
  // back in health's words: whoever finds a fault first, it has one code and one sentence.
  virtual std::vector<DeviceFault> Tell(std::vector<DeviceFault> faults, Deadline deadline) = 0;
};

class HealthFaults final : public DeviceFaults {
 public:
  // All must outlive it. `publish` hands health's report to the publisher.
  HealthFaults(HealthWatch& watch, const Publisher& publisher, std::function<void()> publish)
      : watch_(watch), publisher_(publisher), publish_(std::move(publish)) {}

  std::optional<Error> Lost(std::string_view device) const override;
  std::string Words(std::string_view device) const override;
  std::vector<DeviceFault> Tell(std::vector<DeviceFault> faults, Deadline deadline) override;

  // Looks whether what Prepare found is still so: once a second, because nobody else does. No claim comes to a device
  // that is tainted.
  void LookAgain(const HardwareState& hardware);

 private:
  HealthWatch& watch_;
  const Publisher& publisher_;
  const std::function<void()> publish_;
};

}  // namespace tessera::driver
