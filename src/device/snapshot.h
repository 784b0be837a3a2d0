// device/snapshot.h: what the node has, at one moment. Immutable once made, and comparable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/pci.h"
#include "nvml/facts.h"

namespace tessera::device {

// A physical GPU. Text is empty and numbers are absent where the driver did not tell.
struct Gpu {
  unsigned index = 0;  // NVML's, not stable over reboots; for people who compare with nvidia-smi.
  unsigned minor = 0;  // The N of /dev/nvidiaN.
  std::string uuid;
  std::string product_name, brand, architecture, serial;
  std::string compute_capability;  // "9.0.0"
  std::optional<std::uint64_t> memory_bytes;
  std::string bus_id;  // "0000:3b:00.0"
  PciPlace place;
  std::string addressing_mode;  // "HMM", "ATS", "None" or empty.
  std::optional<bool> ecc, persistence;
  std::optional<unsigned> pcie_generation, pcie_width;
  std::optional<unsigned> module_id;
  std::optional<unsigned> recovery_action;
  std::optional<bool> mig_enabled;  // Absent: not MIG capable.
  std::string nvlink_island;        // GPUs with the same value reach each other over NVLink. Empty: no NVLink.
  unsigned nvlink_count = 0;        // Links that are up.
  std::string nvlink_version;       // "4.0.0"
  std::optional<bool> nvswitch;     // Its links end in switches. Absent when none is up.
  bool operator==(const Gpu&) const = default;
};

// A MIG device: one compute instance of one GPU instance.
struct Mig {
  std::string uuid;
  std::string profile;  // "3g.40gb"
  unsigned gpu_instance = 0, compute_instance = 0;
  unsigned profile_id = 0;
  unsigned placement_start = 0, placement_size = 0;  // Memory slices.
  std::uint64_t memory_bytes = 0;
  unsigned multiprocessors = 0, copy_engines = 0, decoders = 0, encoders = 0, jpegs = 0, ofas = 0;
  bool operator==(const Mig&) const = default;
};

// Something a claim can be given: a full GPU, or a MIG device of one.
struct Device {
  std::string name;  // "gpu-0", "gpu-0-mig-3g40gb-9-4"
  Gpu gpu;           // The GPU itself, or the MIG device's parent.
  std::optional<Mig> mig;
  std::vector<nvml::Gap> gaps;  // What the driver did not tell about it.
  bool operator==(const Device&) const = default;
};

// A GPU or MIG device that exists but is not offered, and why.
struct Withheld {
  std::string name;  // "gpu-3", or "GPU at index 3" when not even its minor is known.
  std::string uuid;  // May be empty.
  std::string product_name;
  std::string code;    // "GpuUnreadable", "MigWithoutDevices", …
  std::string reason;  // One sentence, with what to do.
  bool operator==(const Withheld&) const = default;
};

struct Snapshot {
  std::string driver_version;       // As the driver spells it: "570.158.01".
  std::string driver_semver;        // "570.158.1"; empty when it is no version.
  std::string cuda_driver_version;  // "13.0.0"
  std::vector<Device> devices;      // In the order they are published in: see MakeSnapshot().
  std::vector<Withheld> withheld;
  std::vector<nvml::Gap> gaps;  // What the driver did not tell about the machine as a whole.
  bool operator==(const Snapshot&) const = default;
};

// Facts of NVML and of the PCI bus (by Linux bus id), put together. One bad GPU never hides the others.
//
// The scheduler takes the first device that fits, so the order is the packing policy: the smallest memory first (a
// claim that any device satisfies must not take the largest), the fewest multiprocessors, plain MIG profiles before the
// one with media engines, then by NVLink island and NUMA node, so that what is used up fills one before it opens the
// next, then by minor and placement.
Snapshot MakeSnapshot(const nvml::MachineFacts& facts, const std::map<std::string, PciPlace>& places);

}  // namespace tessera::device
