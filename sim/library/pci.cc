#include "sim/library/pci.h"

#include "base/text.h"
#include "sim/library/sink.h"

namespace tessera::sim::library {
namespace {

// The number, when it has at most this many hexadecimal digits.
bool ReadHex(std::string_view text, std::size_t digits, unsigned& out) {
  const auto number = ParseNumber<unsigned>(text, 16);
  if (!number || text.size() > digits) return false;
  out = *number;
  return true;
}

}  // namespace

std::optional<PciAddress> ParsePciAddress(std::string_view text) {
  PciAddress address;
  auto parts = Split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  if (parts.size() == 3 && !ReadHex(parts.front(), 8, address.domain)) return std::nullopt;
  std::string_view device = parts.back();
  if (const auto cut = Cut(device, ".")) {
    if (!ReadHex(cut->second, 1, address.function)) return std::nullopt;
    device = cut->first;
  } else if (parts.size() == 2) {
    return std::nullopt;  // "07:00" could be anything.
  }
  if (!ReadHex(parts[parts.size() - 2], 2, address.bus) || !ReadHex(device, 2, address.device)) return std::nullopt;
  return address;
}

PciInfo MakePciInfo(const PciAddress& address, unsigned device_id, unsigned subsystem_id) {
  PciInfo info{};
  info.domain = address.domain;
  info.bus = address.bus;
  info.device = address.device;
  info.pciDeviceId = device_id;
  info.pciSubSystemId = subsystem_id;
  SetText(info.busIdLegacy, Format("{:04X}:{:02X}:{:02X}.0", address.domain, address.bus, address.device));
  SetText(info.busId, Format("{:08X}:{:02X}:{:02X}.0", address.domain, address.bus, address.device));
  return info;
}

PciInfo PciInfoOf(const Gpu& gpu, const Model& model) {
  return MakePciInfo(ParsePciAddress(gpu.bus_id).value_or(PciAddress{}), model.pci_device_id, model.pci_subsystem_id);
}

unsigned BoardId(const Gpu& gpu) {
  const PciAddress address = ParsePciAddress(gpu.bus_id).value_or(PciAddress{});
  return address.domain << 16U | address.bus << 8U | address.device;
}

}  // namespace tessera::sim::library
