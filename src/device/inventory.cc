#include "device/inventory.h"

namespace tessera::device {

Result<Recording> Record(nvml::GpuLibrary& library, const std::filesystem::path& sysfs) {
  Recording recording;
  TESSERA_ASSIGN(recording.nvml, library.Read());
  for (const nvml::GpuFacts& gpu : recording.nvml.gpus) {
    if (gpu.bus_id.empty()) continue;
    const std::string bus_id = LinuxBusId(gpu.bus_id);
    recording.pci.emplace(bus_id, ReadPciPlace(sysfs, bus_id));
  }
  return recording;
}

Result<Inventory::Scan> Inventory::Rescan() {
  TESSERA_ASSIGN(const Recording recording, Record(library_, sysfs_));
  auto snapshot = std::make_shared<const Snapshot>(MakeSnapshot(recording.nvml, recording.pci));
  if (last_ != nullptr && *last_ == *snapshot) return Scan{last_, version_, false, recording.nvml.library};
  last_ = std::move(snapshot);
  return Scan{last_, ++version_, true, recording.nvml.library};
}

}  // namespace tessera::device
