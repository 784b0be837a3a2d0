#include "inspect/devices_view.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/clock.h"
#include "base/text.h"
#include "device/slices.h"
#include "device/snapshot_json.h"
#include "inspect/table.h"
#include "json/value.h"

namespace tessera::inspect {
namespace {

using device::Device;
using device::Snapshot;
using device::Withheld;

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string MemoryText(std::optional<std::uint64_t> bytes) {
  if (!bytes) return "-";
  constexpr double kGib = 1 << 30;
  const double gib = static_cast<double>(*bytes) / kGib;
  return gib < 10 ? Format("{:.1f} GiB", gib) : Format("{:.0f} GiB", gib);
}

std::string MigText(const Device& device) {
  if (device.mig) return device.mig->profile;
  return device.gpu.mig_enabled ? "off" : "-";
}

// Islands as letters, in the order they appear: a UUID says nothing to a reader who wants to see who belongs together.
class IslandNames {
 public:
  std::string Of(const std::string& island) {
    if (island.empty()) return "-";
    const std::size_t next = names_.size();
    const auto [entry, is_new] = names_.try_emplace(island);
    if (is_new) entry->second = next < 26 ? std::string(1, static_cast<char>('A' + next)) : Format("{}", next + 1);
    return entry->second;
  }

 private:
  std::map<std::string, std::string> names_;
};

using Healths = std::vector<health::DeviceHealth>;

const health::DeviceHealth* Find(const Healths& health, const std::string& device) {
  const auto found = std::ranges::find(health, device, &health::DeviceHealth::device);
  return found == health.end() ? nullptr : &*found;
}

Tone ToneOf(health::State state) {
  return state == health::State::kHealthy || state == health::State::kSuspect ? Tone::kFaint : Tone::kBad;
}

// What the plugin found, or else the driver's own advice.
Cell HealthCell(const Device& device, const health::DeviceHealth* found) {
  if (found != nullptr)
    return {Format("{}: {}", ToText(found->state), found->reasons.front().code), ToneOf(found->state)};
  constexpr std::array<std::string_view, 6> kActions{"ok",        "needs a reset",       "needs a reboot",
                                                     "drain P2P", "drain, then a reset", "recover IMEX domain"};
  const unsigned action = device.gpu.recovery_action.value_or(0);
  if (action == 0) return {device.gaps.empty() ? "ok" : "ok, partly read", Tone::kGood};
  return {std::string(action < kActions.size() ? kActions[action] : "see the driver"), Tone::kBad};
}

std::vector<std::string> Header(bool wide) {
  std::vector<std::string> header{"INDEX", "NAME", "PRODUCT", "MEMORY", "MIG", "NUMA", "PCIE ROOT", "NVLINK", "HEALTH"};
  if (wide) {
    header.insert(header.end() - 1,
                  {"UUID", "BUS ID", "ARCHITECTURE", "CC", "LINKS", "ISLAND", "ECC", "PCIE", "SERIAL", "SINCE"});
  }
  return header;
}

std::vector<Cell> WideCells(const Device& device, const health::DeviceHealth* found) {
  const device::Gpu& gpu = device.gpu;
  const std::string links = gpu.nvlink_count == 0 ? "-" : Format("{} × {}", gpu.nvlink_count, gpu.nvlink_version);
  const std::string pcie = gpu.pcie_generation && gpu.pcie_width
                               ? Format("gen {} ×{}", *gpu.pcie_generation, *gpu.pcie_width)
                               : std::string("-");
  return {{device.mig ? device.mig->uuid : gpu.uuid},
          {OrDash(gpu.bus_id)},
          {OrDash(gpu.architecture)},
          {OrDash(gpu.compute_capability.substr(0, gpu.compute_capability.rfind('.')))},
          {links},
          {OrDash(gpu.nvlink_island)},
          {!gpu.ecc   ? "-"
           : *gpu.ecc ? "on"
                      : "off"},
          {pcie},
          {OrDash(gpu.serial)},
          {found == nullptr ? "-" : Rfc3339(found->reasons.front().since)}};
}

// What the driver did not tell about devices that are offered all the same.
std::string GapsText(const Snapshot& snapshot) {
  std::string text;
  for (const nvml::Gap& gap : snapshot.gaps) text += Format("  the machine: {}: {}\n", gap.function, gap.reason);
  for (const Device& device : snapshot.devices) {
    for (const nvml::Gap& gap : device.gaps) text += Format("  {}: {}: {}\n", device.name, gap.function, gap.reason);
  }
  return text.empty() ? text : "\nRead in part:\n" + text;
}

// Everything that stands against devices, with what to do about it.
std::string ReasonsText(const Healths& health, bool color) {
  std::string text;
  for (const health::DeviceHealth& device : health) {
    for (const health::ReasonReport& reason : device.reasons) {
      text += Format("  {}: {}: {} (since {}). {}\n", Paint(device.device, ToneOf(device.state), color), reason.code,
                     reason.sentence, Rfc3339(reason.since), reason.next);
    }
  }
  return text.empty() ? text : "\nFound by the plugin:\n" + text;
}

json::Value HealthJson(const Healths& health) {
  json::Array devices;
  for (const health::DeviceHealth& device : health) {
    json::Array reasons;
    for (const health::ReasonReport& reason : device.reasons) {
      reasons.push_back(json::Object{{"code", reason.code},
                                     {"severity", ToText(reason.severity)},
                                     {"phase", ToText(reason.phase)},
                                     {"since", Rfc3339(reason.since)},
                                     {"message", reason.sentence},
                                     {"next", reason.next}});
    }
    devices.push_back(json::Object{{"device", device.device},
                                   {"uuid", device.uuid},
                                   {"state", ToText(device.state)},
                                   {"reasons", std::move(reasons)}});
  }
  return devices;
}

json::Value ToJson(const Snapshot& snapshot, const Healths& health) {
  json::Value value = json::Encode(snapshot);
  if (!health.empty()) value.as_object()["health"] = HealthJson(health);
  return value;
}

std::string RenderTable(const Snapshot& snapshot, const Healths& health, bool wide, bool color) {
  Table table(Header(wide));
  IslandNames islands;
  // People look for a GPU by its number; the order of publication is for the scheduler.
  std::vector<const Device*> devices;
  for (const Device& device : snapshot.devices) devices.push_back(&device);
  std::ranges::stable_sort(
      devices, {}, [](const Device* d) { return std::tuple(d->gpu.index, d->mig ? d->mig->placement_start : 0); });
  for (const Device* device : devices) {
    const device::Gpu& gpu = device->gpu;
    std::vector<Cell> row{{Format("{}", gpu.index)},
                          {device->name},
                          {OrDash(gpu.product_name)},
                          {MemoryText(device->mig ? std::optional(device->mig->memory_bytes) : gpu.memory_bytes)},
                          {MigText(*device)},
                          {gpu.place.numa_node ? Format("{}", *gpu.place.numa_node) : "-"},
                          {OrDash(gpu.place.root)},
                          {islands.Of(gpu.nvlink_island)}};
    const health::DeviceHealth* found = Find(health, device->name);
    if (wide) std::ranges::copy(WideCells(*device, found), std::back_inserter(row));
    row.push_back(HealthCell(*device, found));
    table.Add(std::move(row));
  }

  std::string out = Format("NVIDIA driver {}, CUDA {}\n\n", OrDash(snapshot.driver_version),
                           OrDash(snapshot.cuda_driver_version.substr(0, snapshot.cuda_driver_version.rfind('.'))));
  out += devices.empty() ? "No GPU is offered.\n" : table.Print(color);
  if (!snapshot.withheld.empty()) out += "\nNot offered:\n";
  for (const Withheld& withheld : snapshot.withheld) {
    out += Format("  {}{}: {} [{}]\n", Paint(withheld.name, Tone::kBad, color),
                  withheld.product_name.empty() ? "" : Format(" ({})", withheld.product_name), withheld.reason,
                  withheld.code);
  }
  out += ReasonsText(health, color);
  out += GapsText(snapshot);
  return out;
}

std::string RenderSlices(const Snapshot& snapshot, const std::string& node_name) {
  std::string out;
  for (const api::ResourceSlice& slice : device::MakeSlices(snapshot, {node_name, 1, std::nullopt})) {
    if (!out.empty()) out += "---\n";
    out += json::PrintYaml(api::ToJson(slice));
  }
  return out;
}

}  // namespace

std::string RenderDevices(const Snapshot& snapshot, const DevicesView& view, const Healths& health) {
  switch (view.format) {
    case DevicesFormat::kTable:
      return RenderTable(snapshot, health, false, view.color);
    case DevicesFormat::kWide:
      return RenderTable(snapshot, health, true, view.color);
    case DevicesFormat::kJson:
      return json::PrintJson(ToJson(snapshot, health), 2) + "\n";
    case DevicesFormat::kYaml:
      return json::PrintYaml(ToJson(snapshot, health));
    case DevicesFormat::kSlices:
      return RenderSlices(snapshot, view.node_name);
  }
  std::unreachable();
}

bool HasUnreadableDevices(const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.withheld, [](const Withheld& withheld) {
    return withheld.code != "MigWithoutDevices" && withheld.code != "DisplayOnly";
  });
}

}  // namespace tessera::inspect
