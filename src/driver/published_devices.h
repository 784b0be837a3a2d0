// driver/published_devices.h: which devices of a snapshot the node offers, and with which taints.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/prepared_claim.h"
#include "api/resource_slice.h"
#include "base/error.h"
#include "device/snapshot.h"
#include "driver/foreign_holders.h"

namespace tessera::driver {

// On a GPU that a device plugin gave to a pod.
inline constexpr std::string_view kHeldTaint = "gpu.nvidia.com/device-plugin";

// GPUs that are left to others for good: --exclude-devices.
class ExcludedDevices {
 public:
  // "GPU-…", "MIG-…", an index as nvidia-smi shows it, or a device name such as gpu-3; separated by commas.
  static Result<ExcludedDevices> Parse(std::string_view text);
  bool Matches(const device::Device& device) const;

 private:
  std::vector<std::string> entries_;
};

// The snapshot without what is excluded; that is withheld with a reason instead.
device::Snapshot Exclude(device::Snapshot snapshot, const ExcludedDevices& excluded);

// All devices in the snapshot's order; those that device-plugin pods hold have a taint that keeps claims away. A device
// that a claim holds under another name is left out: to the scheduler it would seem free.
std::vector<api::Device> PublishedDevices(const device::Snapshot& snapshot, const std::vector<ForeignHolder>& holders,
                                          const std::vector<std::shared_ptr<const api::PreparedClaim>>& claims);

}  // namespace tessera::driver
