// driver/excluded_devices.h: GPUs that are left to others for good: --exclude-devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cel/device_selector.h"
#include "device/snapshot.h"

namespace tessera::driver {

class ExcludedDevices {
 public:
  // Entries separated by commas: "GPU-…", "MIG-…", an index as nvidia-smi shows it, a device name such as gpu-3, or a
  // CEL expression as claims have them, such as device.attributes["gpu.nvidia.com"].productName == "Tesla T4".
  static Result<ExcludedDevices> Parse(std::string_view text);

  // The snapshot without what is excluded; that is withheld with a reason instead. So is a device on which an
  // expression fails: one GPU too few is better than one that two drivers hand out.
  device::Snapshot Apply(device::Snapshot snapshot) const;

 private:
  bool Names(const device::Device& device) const;
  Result<bool> Selects(const device::Snapshot& snapshot, const device::Device& device) const;

  std::vector<std::string> names_;
  std::vector<cel::DeviceSelector> selectors_;
};

}  // namespace tessera::driver
