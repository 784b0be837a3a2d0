// inspect/devices_view.h: the inventory on a screen, or for a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/snapshot.h"
#include "health/report.h"

namespace tessera::inspect {

enum class DevicesFormat : std::uint8_t { kTable, kWide, kJson, kYaml, kSlices };

struct DevicesView {
  DevicesFormat format = DevicesFormat::kTable;
  bool color = false;
  std::string node_name;  // For kSlices: the node, and so the pool, they are published for.
};

// `health`: of devices with something against them.
std::string RenderDevices(const device::Snapshot& snapshot, const DevicesView& view,
                          const std::vector<health::DeviceHealth>& health = {});

// Whether a device is missing because it cannot be read, not because of how somebody set it up.
bool HasUnreadableDevices(const device::Snapshot& snapshot);

}  // namespace tessera::inspect
