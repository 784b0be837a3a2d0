#include "driver/published_devices.h"

#include <algorithm>

#include "base/text.h"
#include "device/slices.h"
#include "driver/hardware.h"

namespace tessera::driver {
namespace {

bool IsEntry(std::string_view entry) {
  return entry.starts_with("GPU-") || entry.starts_with("MIG-") || entry.starts_with("gpu-") ||
         ParseNumber<unsigned>(entry).has_value();
}

// Names changed between releases of the Go driver: gpu-0-mig-19-0-1 is gpu-0-mig-1g10gb-19-0 now.
bool IsHeldUnderAnotherName(const device::Device& device,
                            const std::vector<std::shared_ptr<const api::PreparedClaim>>& claims) {
  const api::Hardware hardware = HardwareOf(device);
  return std::ranges::any_of(claims, [&](const auto& claim) {
    return std::ranges::any_of(claim->devices, [&](const api::PreparedDevice& held) {
      return held.name != device.name && !held.admin_access &&
             held.hardware.mig.has_value() == hardware.mig.has_value() && api::Overlap(held.hardware, hardware);
    });
  });
}

}  // namespace

Result<ExcludedDevices> ExcludedDevices::Parse(std::string_view text) {
  ExcludedDevices excluded;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view entry = Trim(part);
    if (entry.empty()) continue;
    if (!IsEntry(entry)) {
      return BadConfig("BadExclude", Format("--exclude-devices: {} is no UUID, index or device name", Quote(entry)),
                       "use GPU-… or MIG-… as nvidia-smi -L shows them, an index, or a name such as gpu-3");
    }
    excluded.entries_.emplace_back(entry);
  }
  return excluded;
}

bool ExcludedDevices::Matches(const device::Device& device) const {
  return std::ranges::any_of(entries_, [&](const std::string& entry) {
    if (const auto index = ParseNumber<unsigned>(entry)) return *index == device.gpu.index;
    if (entry == device.name || entry == device.gpu.uuid) return true;
    return device.mig ? entry == device.mig->uuid || entry == Format("gpu-{}", device.gpu.minor) : false;
  });
}

device::Snapshot Exclude(device::Snapshot snapshot, const ExcludedDevices& excluded) {
  std::erase_if(snapshot.devices, [&](const device::Device& device) {
    if (!excluded.Matches(device)) return false;
    snapshot.withheld.push_back({.name = device.name,
                                 .uuid = device.mig ? device.mig->uuid : device.gpu.uuid,
                                 .product_name = device.gpu.product_name,
                                 .code = "Excluded",
                                 .reason = "left to others by --exclude-devices"});
    return true;
  });
  return snapshot;
}

std::vector<api::Device> PublishedDevices(const device::Snapshot& snapshot, const std::vector<ForeignHolder>& holders,
                                          const std::vector<std::shared_ptr<const api::PreparedClaim>>& claims) {
  std::vector<api::Device> devices;
  for (const device::Device& device : snapshot.devices) {
    if (IsHeldUnderAnotherName(device, claims)) continue;
    api::Device& added = devices.emplace_back(device::MakeApiDevice(snapshot, device));
    if (std::ranges::any_of(holders, [&](const ForeignHolder& holder) { return Holds(holder, HardwareOf(device)); })) {
      added.taints.push_back({.key = std::string(kHeldTaint), .value = "", .effect = "NoSchedule"});
    }
  }
  return devices;
}

}  // namespace tessera::driver
