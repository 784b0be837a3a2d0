// sim/library/pci.h: PCI addresses as NVML writes and reads them.
#pragma once

#include <optional>
#include <string_view>

#include "nvml/abi.h"
#include "sim/machine.h"

namespace tessera::sim::library {

struct PciAddress {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  bool operator==(const PciAddress&) const = default;
};

// "0000:07:00.0", and what NVML takes besides: a domain of up to eight digits, no function, no domain. Hexadecimal.
std::optional<PciAddress> ParsePciAddress(std::string_view text);

// Both bus id texts and the numbers. `device_id` is device << 16 | vendor.
nvml::abi::PciInfo MakePciInfo(const PciAddress& address, unsigned device_id, unsigned subsystem_id);
nvml::abi::PciInfo PciInfoOf(const Gpu& gpu, const Model& model);

// The address without its function as one number: what NVML uses as board id and as the GPU id of system events.
unsigned BoardId(const Gpu& gpu);

}  // namespace tessera::sim::library
