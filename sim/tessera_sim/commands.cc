#include "sim/tessera_sim/commands.h"

#include <algorithm>

#include "base/text.h"
#include "json/decode.h"
#include "nvml/abi.h"

namespace tessera::sim::command {
namespace {

namespace abi = nvml::abi;

constexpr std::uint64_t kXidFallenOffTheBus = 79;
constexpr std::uint64_t kThermalReasons = abi::kClocksHardwareSlowdown | abi::kClocksHardwareThermal;

// "0000:0F:00.0" and NVML's "00000000:0F:00.0" as state.json has it.
std::string NormalBusId(std::string_view text) {
  std::string bus_id = Lower(text);
  if (bus_id.size() == 16 && bus_id.starts_with("0000")) bus_id.erase(0, 4);
  return bus_id;
}

// A change of one yes-or-no field, with the words for it.
Output Toggle(const Path& root, const std::string& gpu, bool Gpu::* field, bool value, std::string_view what) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  bool changed = false;
  const auto change = [&](Machine&, Gpu& found) -> Result<void> {
    changed = found.*field != value;
    found.*field = value;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  return Format("{} {}{}\n", Label(now), what, changed ? "" : ", as before");
}

// A driver that starts anew forgets what lives in its memory. MIG instances never survive it; the mode does only where
// the board keeps it (before Hopper).
void StartDriver(Machine& machine) {
  machine.driver_loaded = true;
  for (Gpu& gpu : machine.gpus) {
    gpu.ecc.corrected_volatile = gpu.ecc.uncorrected_volatile = 0;
    gpu.instances.clear();
    gpu.processes.clear();
    gpu.mig_mode = gpu.mig_pending = machine.models.at(gpu.model).resetless_mig ? 0 : gpu.mig_pending;
  }
}

// ---- set

// "links[3].up" as {"links", "3", "up"}.
std::vector<std::string> PathParts(std::string_view path) {
  std::string dots(path);
  std::erase(dots, ']');
  std::ranges::replace(dots, '[', '.');
  std::vector<std::string> parts;
  for (const std::string_view part : Split(dots, '.')) parts.emplace_back(part);
  return parts;
}

// The place in `value` that `path` names, made when an object lacks it: whether it may be there, decoding decides.
Result<json::Value*> Place(json::Value& value, std::string_view path) {
  json::Value* at = &value;
  for (const std::string& part : PathParts(path)) {
    if (json::Array* array = at->if_array()) {
      const auto index = ParseNumber<std::size_t>(part);
      if (!index || *index >= array->size()) {
        return BadConfig("BadAssignment",
                         Format("{}: {} is no index, there are {} elements", path, part, array->size()));
      }
      at = &(*array)[*index];
    } else {
      if (at->is_null()) at->emplace_object();
      if (!at->is_object()) return BadConfig("BadAssignment", Format("{}: has nothing named {}", path, Quote(part)));
      at = &at->as_object()[part];
    }
  }
  return at;
}

Result<void> Assign(json::Value& gpu, const std::string& assignment) {
  const auto parts = Cut(assignment, "=");
  if (!parts) return BadConfig("BadAssignment", Format("{} is no assignment", Quote(assignment)), "write key=value");
  TESSERA_ASSIGN(auto documents, json::ParseYaml(parts->second));
  TESSERA_ASSIGN(json::Value * place, Place(gpu, parts->first));
  *place = documents.empty() ? json::Value("") : std::move(documents.front());
  return {};
}

Result<void> ChangeFields(Gpu& gpu, const std::vector<std::string>& assignments) {
  json::Value value = json::Encode(gpu);
  for (const std::string& assignment : assignments) TESSERA_TRY(Assign(value, assignment));
  TESSERA_ASSIGN(Gpu changed, json::Decode<Gpu>(value));
  if (changed.model != gpu.model || changed.minor != gpu.minor || changed.bus_id != gpu.bus_id) {
    return BadConfig("BadAssignment", "model, minor and busId make the GPU what it is and cannot be set",
                     "write a profile with another GPU and run tessera-sim create");
  }
  gpu = std::move(changed);
  return {};
}

}  // namespace

bool IsSimulatorRoot(const Path& root) {
  std::error_code error;
  return std::filesystem::exists(root / kStateDir / "state.json", error);
}

Result<std::unique_ptr<Store>> OpenStore(const Path& root) {
  if (!IsSimulatorRoot(root)) {
    return BadConfig("NoSimulatorRoot", Format("{} is no simulator root", root.string()),
                     Format("make it one: tessera-sim create --profile NAME --root {}", root.string()));
  }
  return Store::Open(root);
}

Result<void> Emit(Store& store, const Gpu& gpu, std::uint64_t type, std::uint64_t data) {
  Event event;
  event.minor = gpu.minor;
  event.type = type;
  event.data = data;
  return store.Emit(event);
}

std::string Label(const Gpu& gpu) { return Format("GPU {} ({})", gpu.minor, gpu.bus_id); }

Result<Gpu*> FindGpu(Machine& machine, std::string_view name) {
  const auto minor = ParseNumber<unsigned>(name);
  const std::string bus_id = NormalBusId(name);
  std::vector<std::string> known;
  for (Gpu& gpu : machine.gpus) {
    if (gpu.minor == minor || gpu.uuid == name || gpu.bus_id == bus_id) return &gpu;
    known.push_back(Format("{} ({}, {})", gpu.minor, gpu.bus_id, gpu.uuid));
  }
  return BadConfig("NoSuchGpu", Format("there is no GPU {}", Quote(name)), "there are: " + Join(known, ", "));
}

Result<Gpu> ChangeGpu(Store& store, std::string_view name, const std::function<Result<void>(Machine&, Gpu&)>& change) {
  Gpu now;
  const auto change_one = [&](Machine& machine) -> Result<void> {
    TESSERA_ASSIGN(Gpu * gpu, FindGpu(machine, name));
    TESSERA_TRY(change(machine, *gpu));
    now = *gpu;
    return {};
  };
  TESSERA_TRY(store.Update(change_one));
  return now;
}

Output Xid(const Path& root, const XidOptions& options) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  TESSERA_ASSIGN(const auto current, store->Read());
  Machine machine = *current;
  TESSERA_ASSIGN(const Gpu* gpu, FindGpu(machine, options.gpu));
  Event event;
  event.minor = gpu->minor;
  event.type = abi::kEventXidCritical;
  event.data = options.code;
  event.gpu_instance = options.gpu_instance.value_or(abi::kNoInstance);
  event.compute_instance = options.compute_instance.value_or(abi::kNoInstance);
  TESSERA_TRY(store->Emit(event));
  return Format("{}: Xid {}\n", Label(*gpu), options.code);
}

Output Ecc(const Path& root, const std::string& gpu, std::uint64_t corrected, std::uint64_t uncorrected) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [&](Machine& machine, Gpu& found) -> Result<void> {
    if (!machine.models.at(found.model).ecc) {
      return BadConfig("NoEcc", Format("{} has no ECC", Label(found)));
    }
    found.ecc.corrected_volatile += corrected;
    found.ecc.corrected_aggregate += corrected;
    found.ecc.uncorrected_volatile += uncorrected;
    found.ecc.uncorrected_aggregate += uncorrected;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  if (corrected > 0) TESSERA_TRY(Emit(*store, now, abi::kEventSingleBitEcc));
  if (uncorrected > 0) TESSERA_TRY(Emit(*store, now, abi::kEventDoubleBitEcc));
  return Format("{}: {} corrected and {} uncorrected errors since the driver started\n", Label(now),
                now.ecc.corrected_volatile, now.ecc.uncorrected_volatile);
}

Output Temperature(const Path& root, const std::string& gpu, unsigned celsius) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [&](Machine& machine, Gpu& found) -> Result<void> {
    const unsigned slowdown = machine.models.at(found.model).temp_slowdown;
    found.temperature = celsius;
    found.clocks_event_reasons &= ~kThermalReasons;
    if (slowdown > 0 && celsius >= slowdown) found.clocks_event_reasons |= kThermalReasons;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  const bool slow = (now.clocks_event_reasons & kThermalReasons) != 0;
  return Format("{}: {} °C{}\n", Label(now), celsius, slow ? ", slowed down" : "");
}

Output Lose(const Path& root, const std::string& gpu) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [](Machine&, Gpu& found) -> Result<void> {
    found.lost = true;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  TESSERA_TRY(Emit(*store, now, abi::kEventXidCritical, kXidFallenOffTheBus));
  TESSERA_TRY(Emit(*store, now, abi::kEventGpuUnavailable));
  return Format("{} has fallen off the bus (Xid {})\n", Label(now), kXidFallenOffTheBus);
}

Output Find(const Path& root, const std::string& gpu) { return Toggle(root, gpu, &Gpu::lost, false, "is on the bus"); }
Output Unplug(const Path& root, const std::string& gpu) { return Toggle(root, gpu, &Gpu::present, false, "is gone"); }

Output Plug(const Path& root, const std::string& gpu) {
  TESSERA_TRY(Toggle(root, gpu, &Gpu::lost, false, ""));  // A board put in again is a working one.
  return Toggle(root, gpu, &Gpu::present, true, "is there");
}

Output Reset(const Path& root, const std::string& gpu) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [](Machine&, Gpu& found) -> Result<void> {
    if (!found.processes.empty()) {
      return BadConfig("GpuInUse", Format("{} has processes", Label(found)), "end them first");
    }
    found.lost = false;
    found.mig_mode = found.mig_pending;
    found.instances.clear();
    found.ecc.corrected_volatile = found.ecc.uncorrected_volatile = 0;
    found.remapped.pending = false;
    found.retired_pending = false;
    found.recovery_action = 0;
    found.utilization = 0;
    found.clocks_event_reasons = abi::kClocksIdle;
    found.pcie_generation = found.pcie_width = 0;
    for (NvLink& link : found.links) {
      link.replay_errors = link.recovery_errors = link.crc_flit_errors = link.crc_data_errors = link.ecc_errors = 0;
    }
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  return Format("{} is reset\n", Label(now));
}

Output UnloadDriver(const Path& root) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change = [](Machine& machine) -> Result<void> {
    machine.driver_loaded = false;
    for (Gpu& gpu : machine.gpus) gpu.processes.clear();
    return {};
  };
  TESSERA_TRY(store->Update(change));
  return "the driver is unloaded\n";
}

Output ReloadDriver(const Path& root, const std::string& version) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  std::string library, kernel;
  const auto change = [&](Machine& machine) -> Result<void> {
    StartDriver(machine);
    if (!version.empty()) machine.kernel_version = version;
    library = machine.driver_version;
    kernel = machine.kernel_version;
    return {};
  };
  TESSERA_TRY(store->Update(change));
  if (library == kernel) return Format("the driver is loaded, version {}\n", kernel);
  return Format("the driver is loaded, version {}; the library is {}: programs get a version mismatch\n", kernel,
                library);
}

Output SetNvLink(const Path& root, const std::string& gpu, const std::string& link, bool up) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto number = ParseNumber<unsigned>(link);
  if (!number && link != "all")
    return BadConfig("NoSuchLink", Format("{} is no link", Quote(link)), "a number, or all");
  const auto change = [&](Machine& machine, Gpu& found) -> Result<void> {
    if (number.value_or(0) >= found.links.size()) {
      return BadConfig("NoSuchLink", Format("{} has no NVLink {}", Label(found), number.value_or(0)),
                       Format("it has {}", found.links.size()));
    }
    for (unsigned i = 0; i < found.links.size(); ++i) {
      if (number && i != *number) continue;
      found.links[i].up = up;
      const auto peer = std::ranges::find(machine.gpus, found.links[i].remote_bus_id, &Gpu::bus_id);
      if (peer != machine.gpus.end()) peer->links.at(found.links[i].remote_link).up = up;
    }
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  return Format("{}: NVLink {} is {}\n", Label(now), link, up ? "up" : "down");
}

Output Set(const Path& root, const std::string& gpu, const std::vector<std::string>& assignments) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  unsigned recovery_before = 0;
  const auto change = [&](Machine&, Gpu& found) -> Result<void> {
    recovery_before = found.recovery_action;
    return ChangeFields(found, assignments);
  };
  TESSERA_ASSIGN(const Gpu now, ChangeGpu(*store, gpu, change));
  if (now.recovery_action != recovery_before) {
    TESSERA_TRY(Emit(*store, now, abi::kEventRecoveryAction, now.recovery_action));
  }
  return Format("{}: {}\n", Label(now), Join(assignments, ", "));
}

}  // namespace tessera::sim::command
