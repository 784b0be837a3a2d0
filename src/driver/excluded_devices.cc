#include "driver/excluded_devices.h"

#include <algorithm>
#include <optional>

#include "api/device_facts.h"
#include "base/text.h"
#include "device/slices.h"

namespace tessera::driver {
namespace {

// Cuts at commas, but not within brackets and quotes: expressions have commas of their own.
std::vector<std::string_view> SplitEntries(std::string_view text) {
  std::vector<std::string_view> entries;
  std::size_t begin = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth <= 0) {
      entries.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  entries.push_back(text.substr(begin));
  return entries;
}

bool IsName(std::string_view entry) {
  return entry.starts_with("GPU-") || entry.starts_with("MIG-") || entry.starts_with("gpu-") ||
         ParseNumber<unsigned>(entry).has_value();
}

}  // namespace

Result<ExcludedDevices> ExcludedDevices::Parse(std::string_view text) {
  ExcludedDevices excluded;
  for (const std::string_view part : SplitEntries(text)) {
    const std::string_view entry = Trim(part);
    if (entry.empty()) continue;
    if (IsName(entry)) {
      excluded.names_.emplace_back(entry);
      continue;
    }
    if (entry.find("device.") == std::string_view::npos) {
      return BadConfig("BadExclude",
                       Format("--exclude-devices: {} is no UUID, index, device name or CEL expression", Quote(entry)),
                       "use GPU-… or MIG-… as nvidia-smi -L shows them, an index, a name such as gpu-3, or an "
                       "expression about `device`");
    }
    auto selector = cel::Compile(entry, {});
    if (!selector) {
      return BadConfig("BadExclude", Format("--exclude-devices: {}", selector.error().message()),
                       selector.error().advice());
    }
    excluded.selectors_.push_back(*std::move(selector));
  }
  return excluded;
}

bool ExcludedDevices::Names(const device::Device& device) const {
  return std::ranges::any_of(names_, [&](const std::string& name) {
    if (const auto index = ParseNumber<unsigned>(name)) return *index == device.gpu.index;
    if (name == device.name || name == device.gpu.uuid) return true;
    return device.mig ? name == device.mig->uuid || name == Format("gpu-{}", device.gpu.minor) : false;
  });
}

Result<bool> ExcludedDevices::Selects(const device::Snapshot& snapshot, const device::Device& device) const {
  if (selectors_.empty()) return false;
  const cel::DeviceFacts facts = api::FactsOf(device::MakeApiDevice(snapshot, device), device::kDriverName);
  for (const cel::DeviceSelector& selector : selectors_) {
    TESSERA_ASSIGN(const bool selected, selector.Matches(facts));
    if (selected) return true;
  }
  return false;
}

device::Snapshot ExcludedDevices::Apply(device::Snapshot snapshot) const {
  std::vector<device::Device> left;
  for (device::Device& device : snapshot.devices) {
    const Result<bool> excluded = Names(device) ? Result<bool>(true) : Selects(snapshot, device);
    if (excluded && !*excluded) {
      left.push_back(std::move(device));
      continue;
    }
    snapshot.withheld.push_back({.name = device.name,
                                 .uuid = device.mig ? device.mig->uuid : device.gpu.uuid,
                                 .product_name = device.gpu.product_name,
                                 .code = excluded ? "Excluded" : "ExcludeFailed",
                                 .reason = excluded ? "left to others by --exclude-devices"
                                                    : Format("an expression of --exclude-devices fails on it: {}",
                                                             excluded.error().message())});
  }
  snapshot.devices = std::move(left);
  return snapshot;
}

}  // namespace tessera::driver
