// driver/health_test_parts.h: reports of health, and prepared claims, for tests of what is told about them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/device_conditions.h"
#include "driver/test_parts.h"
#include "journal/journal.h"

namespace tessera::driver {

inline health::ReasonReport StandingXid(std::uint64_t code) {
  return {.kind = health::Kind::kXid,
          .code = Format("Xid{}", code),
          .phase = health::Phase::kStanding,
          .severity = health::Severity::kUnusable,
          .sentence = Format("Xid {} was seen", code),
          .next = "Reset it."};
}

inline health::DeviceHealth HealthOf(const device::Device& device, std::vector<health::ReasonReport> reasons = {},
                                     bool heard = true) {
  auto health = health::MakeDeviceHealth(std::move(reasons), heard, health::Isolation::kTaint);
  health.device = device.name;
  health.uuid = device.mig ? device.mig->uuid : device.gpu.uuid;
  health.gpu_uuid = device.gpu.uuid;
  return health;
}

// All devices of TestSnapshot() are well but those with the name `sick`.
inline NodeHealth TestHealth(std::string_view sick = "", std::vector<health::ReasonReport> reasons = {}) {
  std::vector<health::DeviceHealth> report;
  for (const device::Device& device : TestSnapshot().devices) {
    report.push_back(HealthOf(device, device.name == sick ? reasons : std::vector<health::ReasonReport>()));
  }
  return std::make_shared<const std::vector<health::DeviceHealth>>(std::move(report));
}

// A claim as Prepare leaves it, with these devices of TestSnapshot().
inline api::PreparedClaim TestPrepared(const std::string& name, const std::vector<std::string>& devices) {
  const auto state = TestState();
  api::PreparedClaim claim{.claim = {"ml", name, "uid-" + name}, .state = api::ClaimState::kCompleted};
  for (const std::string& device : devices) {
    claim.devices.push_back({.requests = {"gpus"},
                             .pool = std::string(kNode),
                             .name = device,
                             .hardware = HardwareOf(*state->by_name.at(device))});
  }
  return claim;
}

inline void Prepare(journal::Journal& journal, const api::PreparedClaim& claim) {
  ASSERT_TRUE(journal.Start(claim).has_value());
  ASSERT_TRUE(journal.Complete(claim.claim.uid).has_value());
}

}  // namespace tessera::driver
