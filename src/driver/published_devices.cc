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

// The strongest first, so that the mildest goes where there are too many.
void AddTaints(api::Device& device, const std::vector<api::Taint>& taints) {
  device.taints.insert(device.taints.end(), taints.begin(), taints.end());
  std::ranges::stable_sort(device.taints, {}, [](const api::Taint& taint) { return taint.effect == "None"; });
  if (device.taints.size() > health::kMaxTaints) device.taints.resize(health::kMaxTaints);
}

}  // namespace

std::vector<api::Device> PublishedDevices(const device::Snapshot& snapshot, const std::vector<ForeignHolder>& holders,
                                          const std::vector<std::shared_ptr<const api::PreparedClaim>>& claims,
                                          const std::vector<health::DeviceHealth>& health) {
  std::vector<api::Device> devices;
  for (const device::Device& device : snapshot.devices) {
    const auto found = std::ranges::find(health, device.name, &health::DeviceHealth::device);
    const bool withdrawn = found != health.end() && found->withdraw;
    if (withdrawn || IsHeldUnderAnotherName(device, claims)) continue;
    api::Device& added = devices.emplace_back(device::MakeApiDevice(snapshot, device));
    const api::Hardware hardware = HardwareOf(device);
    const auto taint = [&](std::string_view key) {
      added.taints.push_back({.key = std::string(key), .value = "", .effect = "NoSchedule"});
    };
    if (std::ranges::any_of(holders, [&](const auto& holder) { return Holds(holder, hardware); })) taint(kHeldTaint);
    if (IsHeldByRun(hardware, claims)) taint(kRunTaint);
    if (found != health.end()) AddTaints(added, found->taints);
  }
  return devices;
}

void KeepEvicted(std::vector<api::Device>& devices, const std::vector<api::Device>& before,
                 const std::vector<health::DeviceHealth>& health) {
  for (const health::DeviceHealth& found : health) {
    const bool evicts = std::ranges::find(found.taints, "NoExecute", &api::Taint::effect) != found.taints.end();
    const auto last = std::ranges::find(before, found.device, &api::Device::name);
    const bool gone = std::ranges::find(devices, found.device, &api::Device::name) == devices.end();
    if (!evicts || !gone || last == before.end()) continue;
    api::Device kept = *last;
    kept.taints = found.taints;
    devices.push_back(std::move(kept));
  }
}

}  // namespace tessera::driver
