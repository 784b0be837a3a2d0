#include "device/pci.h"

#include "base/fd.h"
#include "base/text.h"

namespace tessera::device {
namespace {

namespace fs = std::filesystem;

bool IsLowerHex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

}  // namespace

std::string LinuxBusId(std::string_view nvml_bus_id) {
  std::string bus_id = Lower(nvml_bus_id);
  const auto domain = bus_id.find(':');
  if (domain == 8 && bus_id.starts_with("0000")) {
    bus_id.erase(0, 4);
  } else if (domain == 8) {
    bus_id.erase(0, bus_id.find_first_not_of('0'));  // The kernel prints %04x: no padding beyond four digits.
  }
  return bus_id;
}

bool IsStandardBusId(std::string_view bus_id) {
  return bus_id.size() == 12 && bus_id[4] == ':' && bus_id[7] == ':' && bus_id[10] == '.' &&
         IsLowerHex(bus_id.substr(0, 4)) && IsLowerHex(bus_id.substr(5, 2)) && IsLowerHex(bus_id.substr(8, 2)) &&
         IsLowerHex(bus_id.substr(11, 1));
}

PciPlace ReadPciPlace(const fs::path& sysfs, std::string_view bus_id) {
  PciPlace place;
  if (bus_id.empty() || bus_id.find('/') != std::string_view::npos) return place;
  const fs::path link = sysfs / "bus/pci/devices" / bus_id;
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);  // ../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0
  if (!error && target.filename() == bus_id) {
    bool below_devices = false;
    for (const fs::path& part : target) {
      if (below_devices) {
        if (part.string().starts_with("pci")) place.root = part.string();
        break;
      }
      below_devices = part == "devices";
    }
  }
  constexpr int kMaxNode = 1023;  // Kubernetes' own helper refuses more.
  const auto text = ReadFile(link / "numa_node", 64);
  const auto node = text.has_value() ? ParseNumber<int>(Trim(*text)) : std::nullopt;
  if (node && *node >= 0 && *node <= kMaxNode) place.numa_node = node;
  return place;
}

}  // namespace tessera::device
