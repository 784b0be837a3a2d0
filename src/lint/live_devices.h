// lint/live_devices.h: the devices of a cluster, from `kubectl get resourceslices -o yaml`, as selectors see them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cel/device_facts.h"
#include "manifests/manifest.h"

namespace tessera::lint {

struct LiveDevice {
  std::string pool, name;
  cel::DeviceFacts facts;
};

struct LiveDevices {
  std::vector<LiveDevice> devices;  // Of the newest generation of each pool: older slices do not count.

  // An error names the slice that cannot be read. Objects that are no slices are passed over.
  static Result<LiveDevices> From(std::span<const manifests::Manifest> objects);
};

}  // namespace tessera::lint
