// sim/tree.h: the files of a machine with an NVIDIA driver, below one directory: the driver root.
//
//   usr/lib/<triplet>/    libnvidia-ml.so.1 (the simulator) and the driver's other libraries, with versions and links
//   usr/bin/              nvidia-smi (a stand-in that asks the library), placeholders for the driver's other programs
//   lib/firmware/nvidia/  GSP firmware
//   dev/                  character devices where they can be made, plain files otherwise
//   proc/, sys/           what the kernel shows: versions, GPUs, MIG capabilities, device majors, the PCI tree
//   var/lib/tessera-sim/  the state (store.h)
//   etc/cdi/              a CDI file that gives a container the state: device tessera-sim/state=all
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "sim/machine.h"

namespace tessera::sim {

struct TreeOptions {
  std::filesystem::path library;     // The simulated libnvidia-ml to copy in.
  std::filesystem::path nvidia_smi;  // The stand-in to copy in; empty: left out.
};

// Writes everything that does not change while the machine runs, then SyncTree(). Says what it had to leave out
// ("character devices: not permitted, plain files instead"), one line each.
Result<std::vector<std::string>> WriteTree(const std::filesystem::path& root, const Machine& machine,
                                           const TreeOptions& options);

// Brings dev/, proc/ and sys/ in line with the machine: nodes, capability files and PCI entries appear and vanish with
// GPUs, instances and the driver. Touches only what differs; safe to repeat. Returns what it had to leave out.
Result<std::vector<std::string>> SyncTree(const std::filesystem::path& root, const Machine& machine);

// Majors that no driver of this machine uses, so that opening a simulated node gives ENXIO and never a real device.
// Prefers the usual ones. Reads `proc_devices`.
Majors PickMajors(const std::filesystem::path& proc_devices = "/proc/devices");

// The minor of a MIG capability node, as the kernel module numbers them.
constexpr unsigned CapMinor(unsigned gpu_minor, unsigned gi) { return 3 + 135 * gpu_minor + 9 * gi; }
constexpr unsigned CapMinor(unsigned gpu_minor, unsigned gi, unsigned ci) { return CapMinor(gpu_minor, gi) + 1 + ci; }

}  // namespace tessera::sim
