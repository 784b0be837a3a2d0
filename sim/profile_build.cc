#include "sim/profile_build.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "sim/mig.h"

namespace tessera::sim {
namespace {

constexpr unsigned kTuring = 6;
constexpr std::size_t kMaxGpus = 32;  // The kernel module numbers MIG capabilities for so many.
constexpr unsigned kRemoteUnknown = 255;

std::unexpected<Error> Bad(std::string message, std::string advice = {}) {
  return BadConfig("BadSimProfile", std::move(message), std::move(advice));
}

bool IsHex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

// The domain of "0000:07:00.0" and of "pci0000:00".
std::string_view Domain(std::string_view address) {
  if (address.starts_with("pci")) address.remove_prefix(3);
  return address.substr(0, 4);
}

Result<void> CheckAddress(const std::string& what, const std::string& address, const std::string& root) {
  if (!IsBusId(address)) {
    return Bad(Format("{}: {} is no PCI address", what, Quote(address)),
               "write domain, bus, device and function in lower case: \"0000:07:00.0\"");
  }
  if (!IsPciRoot(root)) return Bad(Format("{}: {} is no PCI root", what, Quote(root)), "write \"pci0000:00\"");
  if (Domain(address) != Domain(root)) {
    return Bad(Format("{}: {} and its root {} are in different PCI domains", what, address, root));
  }
  return {};
}

Result<void> CheckGpu(const ProfileText& text, const GpuText& gpu, const Model& model) {
  const std::string what = "GPU " + gpu.bus_id;
  TESSERA_TRY(CheckAddress(what, gpu.bus_id, gpu.root));
  for (const std::string& bridge : gpu.bridges.value_or(std::vector<std::string>{})) {
    TESSERA_TRY(CheckAddress(what + ": bridge", bridge, gpu.root));
  }
  if (gpu.numa < -1 || (gpu.numa >= 0 && std::ranges::find(text.numa, gpu.numa, &NumaNode::id) == text.numa.end())) {
    return Bad(Format("{}: there is no NUMA node {}", what, gpu.numa), "list it under numa, or write -1 for none");
  }
  if (gpu.mig && gpu.mig->enabled && model.mig.empty()) return Bad(Format("{}: {} has no MIG", what, model.name));
  if (text.driver.open && model.architecture < kTuring) {
    return Bad(Format("{}: the open kernel module does not drive {}", what, model.name), "write driver: {open: false}");
  }
  return {};
}

Result<void> CheckDriver(const DriverText& driver) {
  for (const std::string& version : {driver.version, driver.kernel.empty() ? driver.version : driver.kernel}) {
    const auto parts = Split(version, '.');
    const bool numbers = std::ranges::all_of(parts, [](auto part) { return ParseNumber<unsigned>(part).has_value(); });
    if (parts.size() < 2 || parts.size() > 3 || !numbers) {
      return Bad(Format("driver: {} is no driver version", Quote(version)), "write it as nvidia-smi does: 580.159.04");
    }
  }
  const auto header = Cut(driver.nvml_header, ".");
  if (!header || !ParseNumber<unsigned>(header->first) || !ParseNumber<unsigned>(header->second)) {
    return Bad(Format("driver: nvmlHeader {} is no NVML version", Quote(driver.nvml_header)), "write \"13.0\", quoted");
  }
  return {};
}

// All addresses of devices are different, and no bridge is a device.
Result<void> CheckUnique(const ProfileText& text) {
  std::set<std::string> seen;
  for (const GpuText& gpu : text.gpus) {
    if (!seen.insert(gpu.bus_id).second) return Bad(Format("two devices have the PCI address {}", gpu.bus_id));
  }
  for (const SwitchText& item : text.switches) {
    TESSERA_TRY(CheckAddress("switch " + item.bus_id, item.bus_id, item.root));
    if (!seen.insert(item.bus_id).second) return Bad(Format("two devices have the PCI address {}", item.bus_id));
  }
  for (const GpuText& gpu : text.gpus) {
    for (const std::string& bridge : gpu.bridges.value_or(std::vector<std::string>{})) {
      if (seen.contains(bridge)) return Bad(Format("GPU {}: its bridge {} is a device", gpu.bus_id, bridge));
    }
  }
  return {};
}

// GPUs without bridges get a root port each: the first on their root bus that nobody else has.
void AddRootPorts(Machine& machine, const std::vector<GpuText>& sorted) {
  std::set<std::string> taken;
  for (const Gpu& gpu : machine.gpus) taken.insert(gpu.bridges.begin(), gpu.bridges.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    Gpu& gpu = machine.gpus[i];
    if (sorted[i].bridges) continue;
    for (unsigned device = 1; device < 32; ++device) {
      std::string port = Format("{}:{:02x}.0", gpu.pcie_root.substr(3), device);
      if (!taken.insert(port).second) continue;
      gpu.bridges.push_back(std::move(port));
      break;
    }
  }
}

std::string Serial(const std::string& uuid) {
  const auto digits = ParseNumber<std::uint64_t>(uuid.substr(0, 8), 16).value_or(0);
  return Format("13{:011}", digits);
}

Gpu MakeGpu(const std::string& profile, const GpuText& text, const Model& model, unsigned index) {
  Gpu gpu;
  gpu.model = text.model;
  gpu.minor = text.minor.value_or(index);
  const std::string uuid = UuidFromSeed(Format("{}/gpu/{}", profile, index));
  gpu.uuid = "GPU-" + uuid;
  if (model.serial) gpu.serial = Serial(uuid);
  gpu.bus_id = text.bus_id;
  gpu.pcie_root = text.root;
  gpu.bridges = text.bridges.value_or(std::vector<std::string>{});
  gpu.numa_node = text.numa;
  gpu.module_id = text.module_id;
  gpu.display = text.display;
  gpu.vfio = text.vfio;
  gpu.ecc_pending = model.ecc;
  gpu.temperature = model.temp_idle;
  gpu.power_mw = model.power_idle_mw;
  if (text.mig && text.mig->enabled) gpu.mig_mode = gpu.mig_pending = 1;
  return gpu;
}

std::string FreeProfiles(const Model& model, const Gpu& gpu) {
  std::vector<std::string> free;
  for (const MigProfile& profile : model.mig) {
    const unsigned left = RemainingCapacity(model, gpu, profile.id);
    if (left > 0) free.push_back(Format("{} ×{}", ProfileName(model, profile), left));
  }
  return free.empty() ? "free: nothing" : "free: " + Join(free, ", ");
}

std::unexpected<Error> NoMigProfile(const std::string& what, const std::string& name, const Model& model) {
  std::vector<std::string> names;
  for (const MigProfile& profile : model.mig) names.push_back(ProfileName(model, profile));
  return Bad(Format("{}: {} has no MIG profile {}", what, model.name, Quote(name)), "known: " + Join(names, ", "));
}

// ---- NVLink and fabric.

Gpu* FindByBusId(Machine& machine, const std::string& bus_id) {
  const auto found = std::ranges::find(machine.gpus, bus_id, &Gpu::bus_id);
  return found == machine.gpus.end() ? nullptr : &*found;
}

// Spreads each GPU's links evenly over the switches, in order. Without switches on this machine's PCI bus the far end
// has no address.
void WireToSwitches(Machine& machine) {
  const auto switches = static_cast<unsigned>(machine.switches.size());
  std::vector<unsigned> ports(switches, 0);
  for (Gpu& gpu : machine.gpus) {
    const auto links = static_cast<unsigned>(gpu.links.size());
    for (unsigned link = 0; link < links; ++link) {
      NvLink& end = gpu.links[link];
      end.up = true;
      end.remote_type = 2;
      if (switches == 0) continue;
      const unsigned target = link * switches / links;
      end.remote_bus_id = machine.switches[target].bus_id;
      end.remote_link = ports[target]++;
    }
  }
}

Result<void> WirePair(Machine& machine, const std::vector<std::string>& pair) {
  if (pair.size() != 2) return Bad("nvlink: a pair has two PCI addresses");
  Gpu* a = FindByBusId(machine, pair[0]);
  Gpu* b = FindByBusId(machine, pair[1]);
  if (a == nullptr || b == nullptr || a == b) {
    return Bad(Format("nvlink: {} and {} are not two GPUs of this machine", pair[0], pair[1]));
  }
  if (a->model != b->model || a->links.empty()) {
    return Bad(Format("nvlink: no bridge joins {} ({}) and {} ({})", a->bus_id, a->model, b->bus_id, b->model));
  }
  for (std::size_t link = 0; link < a->links.size(); ++link) {
    const auto number = static_cast<unsigned>(link);
    a->links[link] = {.up = true, .remote_type = 0, .remote_bus_id = b->bus_id, .remote_link = number};
    b->links[link] = {.up = true, .remote_type = 0, .remote_bus_id = a->bus_id, .remote_link = number};
  }
  return {};
}

Result<void> WireNvLinks(Machine& machine, const NvLinkText& text) {
  NvLink nowhere;
  nowhere.up = false;
  nowhere.remote_type = kRemoteUnknown;
  for (Gpu& gpu : machine.gpus) {
    const auto& nvlink = machine.models.at(gpu.model).nvlink;
    if (nvlink) gpu.links.assign(nvlink->links, nowhere);
  }
  const bool any = std::ranges::any_of(machine.gpus, [](const Gpu& gpu) { return !gpu.links.empty(); });
  if (text.through != Wiring::kNone && !any) return Bad("nvlink: no GPU of this machine has NVLink");
  if (text.through == Wiring::kSwitches && machine.switches.empty()) {
    return Bad("nvlink: through switches, but there are none", "list them under switches, or write external");
  }
  if (text.through == Wiring::kExternal && !machine.switches.empty()) {
    return Bad("nvlink: external switches are no PCI devices of this machine", "remove switches, or write switches");
  }
  if (text.through == Wiring::kSwitches || text.through == Wiring::kExternal) WireToSwitches(machine);
  for (const auto& pair : text.pairs) TESSERA_TRY(WirePair(machine, pair));
  return {};
}

Result<void> SetFabric(Machine& machine, const std::optional<Fabric>& fabric) {
  bool any = false;
  for (Gpu& gpu : machine.gpus) {
    if (!machine.models.at(gpu.model).fabric) continue;
    // A board with the API and nothing behind it answers "not supported" as a state (seen on H200 without NVLink).
    gpu.fabric = fabric.value_or(Fabric{.state = 0, .health_mask = 0, .health_summary = 0});
    any = true;
  }
  if (fabric && !any) return Bad("fabric: no GPU of this machine has the fabric API");
  return {};
}

Result<std::vector<GpuText>> SortedGpus(const ProfileText& text) {
  if (text.gpus.size() > kMaxGpus) return Bad(Format("{} GPUs: at most {} are possible", text.gpus.size(), kMaxGpus));
  std::vector<GpuText> sorted = text.gpus;
  std::ranges::sort(sorted, {}, &GpuText::bus_id);  // Fixed-width hexadecimal: text order is PCI order.
  std::set<unsigned> minors;
  for (unsigned i = 0; i < sorted.size(); ++i) {
    const unsigned minor = sorted[i].minor.value_or(i);
    if (!minors.insert(minor).second) return Bad(Format("GPU {}: minor {} is taken", sorted[i].bus_id, minor));
    if (minor >= kMaxGpus) return Bad(Format("GPU {}: minor {} is above {}", sorted[i].bus_id, minor, kMaxGpus - 1));
  }
  return sorted;
}

}  // namespace

Result<void> AddInstance(Machine& machine, Gpu& gpu, const InstanceText& text) {
  const Model& model = machine.models.at(gpu.model);
  const std::string what = Format("GPU {}: MIG instance {}", gpu.bus_id, ToText(text));
  const MigProfile* profile = FindProfileByText(model, text.profile);
  if (profile == nullptr) return NoMigProfile(what, text.profile, model);
  const auto instance = CreateGpuInstance(model, gpu, profile->id, text.start);
  if (!instance) return Bad(Format("{}: {}", what, ToString(instance.error())), FreeProfiles(model, gpu));

  const auto cuts = ComputeProfiles(model, *profile);
  for (const unsigned slices : text.cuts) {
    const auto cut = std::ranges::find(cuts, slices == 0 ? profile->slices : slices, &CiProfile::slices);
    if (cut == cuts.end()) return Bad(Format("{}: cannot be cut into {}c", what, slices));
    const auto made =
        CreateComputeInstance(model, gpu, (*instance)->id, cut->profile, std::nullopt, NextMigUuid(machine));
    if (!made) return Bad(Format("{}: compute instance {}c: {}", what, slices, ToString(made.error())));
  }
  return {};
}

bool IsBusId(std::string_view text) {
  return text.size() == 12 && text[4] == ':' && text[7] == ':' && text[10] == '.' && IsHex(text.substr(0, 4)) &&
         IsHex(text.substr(5, 2)) && IsHex(text.substr(8, 2)) && text[11] >= '0' && text[11] <= '7';
}

bool IsPciRoot(std::string_view text) {
  return text.size() == 10 && text.starts_with("pci") && text[7] == ':' && IsHex(text.substr(3, 4)) &&
         IsHex(text.substr(8, 2));
}

Result<Machine> BuildMachine(const std::string& name, const ProfileText& text, std::map<std::string, Model> models) {
  TESSERA_TRY(CheckDriver(text.driver));
  for (const GpuText& gpu : text.gpus) TESSERA_TRY(CheckGpu(text, gpu, models.at(gpu.model)));
  TESSERA_TRY(CheckUnique(text));
  TESSERA_ASSIGN(const auto sorted, SortedGpus(text));

  Machine machine;
  machine.profile = name;
  machine.driver_version = text.driver.version;
  machine.kernel_version = text.driver.kernel.empty() ? text.driver.version : text.driver.kernel;
  machine.cuda_version = text.driver.cuda;
  machine.nvml_header = text.driver.nvml_header;
  machine.open_kernel_module = text.driver.open;
  machine.numa = text.numa;
  machine.models = std::move(models);
  for (unsigned i = 0; i < sorted.size(); ++i) {
    machine.gpus.push_back(MakeGpu(name, sorted[i], machine.models.at(sorted[i].model), i));
  }
  AddRootPorts(machine, sorted);
  for (unsigned i = 0; i < sorted.size(); ++i) {
    if (!sorted[i].mig) continue;
    for (const InstanceText& instance : sorted[i].mig->instances) {
      TESSERA_TRY(AddInstance(machine, machine.gpus[i], instance));
    }
  }
  for (const SwitchText& item : text.switches) machine.switches.push_back({item.bus_id, item.root, item.pci_device_id});
  TESSERA_TRY(WireNvLinks(machine, text.nvlink));
  TESSERA_TRY(SetFabric(machine, text.fabric));
  return machine;
}

}  // namespace tessera::sim
