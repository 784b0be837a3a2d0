#include "driver/published_devices.h"

#include <algorithm>

#include "device/slices.h"
#include "driver/hardware.h"

namespace tessera::driver {
namespace {

// Names changed between releases of the Go driver: gpu-0-mig-19-0-1 is gpu-0-mig-1g10gb-19-0 now.
bool IsHeldUnderAnotherName(const device::Device& device,
                            const std::vector<std::shared_ptr<const api::PreparedClaim>>& claims) {
  const api::Hardware hardware = HardwareOf(device);
  return std::ranges::any_of(claims, [&](const auto& claim) {
    return std::ranges::any_of(claim->devices, [&](const api::PreparedDevice& held) {
      return held.name != device.name && !held.admin_access &&
             held.hardware.mig.has_value() == hardware.mig.has_value() && api::Overlap(held.hardware, hardware);
    });
  });
}

bool IsHeldByRun(const api::Hardware& hardware, const std::vector<std::shared_ptr<const api::PreparedClaim>>& claims) {
  return std::ranges::any_of(claims, [&](const auto& claim) {
    return claim->run && std::ranges::any_of(claim->devices, [&](const api::PreparedDevice& held) {
             return !held.admin_access && api::Overlap(held.hardware, hardware);
           });
  });
}

}  // namespace

std::vector<api::Device> PublishedDevices(const device::Snapshot& snapshot, const std::vector<ForeignHolder>& holders,
                                          const std::vector<std::shared_ptr<const api::PreparedClaim>>& claims) {
  std::vector<api::Device> devices;
  for (const device::Device& device : snapshot.devices) {
    if (IsHeldUnderAnotherName(device, claims)) continue;
    api::Device& added = devices.emplace_back(device::MakeApiDevice(snapshot, device));
    const api::Hardware hardware = HardwareOf(device);
    const auto taint = [&](std::string_view key) {
      added.taints.push_back({.key = std::string(key), .value = "", .effect = "NoSchedule"});
    };
    if (std::ranges::any_of(holders, [&](const auto& holder) { return Holds(holder, hardware); })) taint(kHeldTaint);
    if (IsHeldByRun(hardware, claims)) taint(kRunTaint);
  }
  return devices;
}

}  // namespace tessera::driver
