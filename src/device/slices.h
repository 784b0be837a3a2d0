// device/slices.h: a snapshot as the ResourceSlices that a node publishes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/resource_slice.h"
#include "device/snapshot.h"

namespace tessera::device {

inline constexpr std::string_view kDriverName = "gpu.nvidia.com";

// Always this many at most, although the API takes 128 without taints: a taint must never force a re-split.
inline constexpr std::size_t kDevicesPerSlice = api::kMaxDevicesPerSliceWithTaints;

struct Pool {
  std::string node_name;  // Also the pool's name.
  std::int64_t generation = 1;
  std::optional<api::OwnerReference> owner;
};

// At least one slice: "no devices" is not "no driver". Devices keep their order.
std::vector<api::ResourceSlice> MakeSlices(std::vector<api::Device> devices, const Pool& pool);
std::vector<api::ResourceSlice> MakeSlices(const Snapshot& snapshot, const Pool& pool);

// What the name of a slice begins with: its index, because the scheduler goes through slices by name.
std::string SliceNamePrefix(std::size_t index, std::string_view node_name);

// One device with all its attributes and capacities. Where the API's limit of 32 is exceeded, attributes are left out
// in the order of kLeftOutFirst.
api::Device MakeApiDevice(const Snapshot& snapshot, const Device& device);

// The attributes a device can do without, first to go first. Should that not be enough, memory slices go, highest first.
inline constexpr std::string_view kLeftOutFirst[] = {"persistenceMode", "pcieWidth",  "pcieGeneration", "gpuModuleID",
                                                     "serial",          "eccEnabled", "nvswitch",       "nvlinkVersion",
                                                     "nvlinkCount",     "pcieBusID",  "addressingMode", "migProfile"};

}  // namespace tessera::device
