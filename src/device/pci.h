// device/pci.h: where a GPU sits in the machine, as the kernel's sysfs tells it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::device {

// NVML's "00000000:3B:00.0" as Linux writes it: "0000:3b:00.0". A domain beyond 16 bits (Intel VMD) keeps its digits.
std::string LinuxBusId(std::string_view nvml_bus_id);

// Whether Kubernetes takes it as resource.kubernetes.io/pciBusID: dddd:bb:dd.f in lower-case hex.
bool IsStandardBusId(std::string_view bus_id);

struct PciPlace {
  std::string root;              // "pci0000:3a", the root complex; empty when not known.
  std::optional<int> numa_node;  // Absent when the kernel knows none (-1 in most virtual machines).
  bool operator==(const PciPlace&) const = default;
};

// `sysfs` is /sys, or a tree that looks like it. What cannot be read is left out.
PciPlace ReadPciPlace(const std::filesystem::path& sysfs, std::string_view bus_id);

}  // namespace tessera::device
