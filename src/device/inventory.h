// device/inventory.h: reads the node's GPUs into snapshots, and says when something changed. Start here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "device/pci.h"
#include "device/snapshot.h"
#include "nvml/gpu_library.h"

namespace tessera::device {

// Everything that was read to make a snapshot: what a bug report or a test needs to make it again.
struct Recording {
  nvml::MachineFacts nvml;
  std::map<std::string, PciPlace> pci;  // By Linux bus id.
};
template <class F>
void Describe(F& f, PciPlace& p) {
  f.Optional("root", p.root);
  f.Optional("numaNode", p.numa_node);
}
template <class F>
void Describe(F& f, Recording& r) {
  f.Required("nvml", r.nvml);
  f.Optional("pci", r.pci);
}

// One pass over NVML and sysfs.
Result<Recording> Record(nvml::GpuLibrary& library, const std::filesystem::path& sysfs);

// Not thread-safe; a snapshot, once handed out, may be read from anywhere.
class Inventory {
 public:
  Inventory(nvml::GpuLibrary& library, std::filesystem::path sysfs) : library_(library), sysfs_(std::move(sysfs)) {}

  struct Scan {
    std::shared_ptr<const Snapshot> snapshot;
    std::uint64_t version = 0;  // Grows with each change, from 1.
    bool changed = false;
    std::filesystem::path library = {};  // The file that answered.
  };
  // Reads the hardware. Unchanged hardware gives the snapshot of the scan before. On error the last one still stands.
  Result<Scan> Rescan();

 private:
  nvml::GpuLibrary& library_;
  const std::filesystem::path sysfs_;
  std::shared_ptr<const Snapshot> last_;
  std::uint64_t version_ = 0;
};

}  // namespace tessera::device
