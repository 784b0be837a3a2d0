// driver/hardware.h: the node's devices as the rest of the driver sees them: the newest snapshot, and a way to ask for a
// newer one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "api/prepared_claim.h"
#include "base/error.h"
#include "cdi/driver_files.h"
#include "cdi/graphics.h"
#include "device/snapshot.h"

namespace tessera::driver {

// One look at the hardware. Immutable.
struct HardwareState {
  std::shared_ptr<const device::Snapshot> snapshot;
  std::map<std::string, const device::Device*, std::less<>> by_name;
  cdi::Roots roots;                       // Of the driver that answered.
  cdi::Graphics graphics;                 // Of its GPUs.
  std::shared_ptr<const cdi::Spec> base;  // Null when the driver's files could not be found: see base_error.
  std::optional<Error> base_error;
};

// `hook_path` is the hook program as the container runtime sees it.
std::shared_ptr<const HardwareState> MakeHardwareState(std::shared_ptr<const device::Snapshot> snapshot,
                                                       cdi::Roots roots, Result<std::shared_ptr<const cdi::Spec>> base,
                                                       const std::string& hook_path);

// The device with this hardware now, under whatever name; null when it is not there.
const device::Device* FindHardware(const HardwareState& state, const api::Hardware& hardware);

// The device of this name, or of the name that the Go driver had for it up to v25.8.1; null when it is not there.
const device::Device* FindNamed(const HardwareState& state, std::string_view name);

api::Hardware HardwareOf(const device::Device& device);

// The claim with the identity of each device as it is known now. Old checkpoints of the Go driver name a MIG device by
// its UUID or its name alone. Nothing when all was known already, or nothing could be learnt.
std::optional<api::PreparedClaim> Identify(const api::PreparedClaim& claim, const HardwareState& hardware);

// Holds the newest state. Safe to call from any thread.
class Hardware {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Null until the first scan succeeded.
  std::shared_ptr<const HardwareState> state() const;
  // The first state, waiting for it until `deadline`. An error says why there is none.
  Result<std::shared_ptr<const HardwareState>> WaitForState(Deadline deadline) const;
  // A state from a scan that began after this call: for a device that was not in the last one.
  Result<std::shared_ptr<const HardwareState>> WaitForRescan(Deadline deadline);

  // For the thread that scans (inventory_loop.h).
  void Set(std::shared_ptr<const HardwareState> state);
  void Fail(const Error& error);  // The scan failed; the last state stays.
  std::optional<Error> failure() const;
  // Waits for `timeout`, a wish for a rescan or `stop`. Then a scan begins.
  void AwaitScan(std::chrono::milliseconds timeout, const std::stop_token& stop);

 private:
  mutable std::mutex mutex_;  // Guards everything below.
  mutable std::condition_variable_any changed_;
  std::shared_ptr<const HardwareState> state_;
  std::optional<Error> failure_;
  std::uint64_t begun_ = 0, ended_ = 0;  // Scans.
  bool wanted_ = false;
};

}  // namespace tessera::driver
