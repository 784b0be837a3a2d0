// driver/published_devices.h: which devices of a snapshot the node offers, and with which taints.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/prepared_claim.h"
#include "api/resource_slice.h"
#include "device/snapshot.h"
#include "driver/foreign_holders.h"
#include "health/report.h"

namespace tessera::driver {

// On a GPU that a device plugin gave to a pod.
inline constexpr std::string_view kHeldTaint = "gpu.nvidia.com/device-plugin";
// On one that a `tessera run` has.
inline constexpr std::string_view kRunTaint = "gpu.nvidia.com/local-run";

// All devices in the snapshot's order, with the taints of their health; those that device-plugin pods or local runs hold
// have a taint that keeps claims away. Left out are a device that the health policy withdraws, and one that a claim holds
// under another name: to the scheduler it would seem free.
std::vector<api::Device> PublishedDevices(const device::Snapshot& snapshot, const std::vector<ForeignHolder>& holders,
                                          const std::vector<std::shared_ptr<const api::PreparedClaim>>& claims,
                                          const std::vector<health::DeviceHealth>& health);

// Adds devices that were published before and are not found any more, while health wants pods to leave them: a taint on
// a device that is in no slice evicts nobody.
void KeepEvicted(std::vector<api::Device>& devices, const std::vector<api::Device>& before,
                 const std::vector<health::DeviceHealth>& health);

}  // namespace tessera::driver
