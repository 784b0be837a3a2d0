#include <algorithm>

#include "base/text.h"
#include "nvml/abi.h"
#include "sim/mig.h"
#include "sim/profile_build.h"
#include "sim/tessera_sim/commands.h"

namespace tessera::sim::command {
namespace {

// A change of MIG mode or instances, and the event that tells of it.
Result<Gpu> ChangeMig(const Path& root, const std::string& gpu,
                      const std::function<Result<void>(Machine&, Gpu&)>& change) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  const auto change_mig = [&](Machine& machine, Gpu& found) -> Result<void> {
    if (machine.models.at(found.model).mig.empty()) {
      return BadConfig("NoMig", Format("{}, {}, has no MIG", Label(found), found.model));
    }
    return change(machine, found);
  };
  TESSERA_ASSIGN(Gpu now, ChangeGpu(*store, gpu, change_mig));
  Event event;
  event.minor = now.minor;
  event.type = nvml::abi::kEventMigConfigChange;
  TESSERA_TRY(store->Emit(event));
  return now;
}

Output SetMode(const Path& root, const std::string& gpu, unsigned mode, bool only_pending) {
  const auto change = [&](Machine&, Gpu& found) -> Result<void> {
    if (mode == 0 && !only_pending && !found.instances.empty()) {
      return BadConfig("MigInUse", Format("{} still has GPU instances", Label(found)),
                       "remove them first: tessera-sim mig destroy --gpu G --all");
    }
    found.mig_pending = mode;
    if (!only_pending) found.mig_mode = mode;
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeMig(root, gpu, change));
  const std::string_view word = mode == 0 ? "off" : "on";
  return only_pending ? Format("{}: MIG is going to be {} after a reset\n", Label(now), word)
                      : Format("{}: MIG is {}\n", Label(now), word);
}

Result<void> Destroy(Gpu& gpu, unsigned gi_id) {
  const auto found = std::ranges::find(gpu.instances, gi_id, &GpuInstance::id);
  if (found == gpu.instances.end()) {
    return BadConfig("NoSuchInstance", Format("{} has no GPU instance {}", Label(gpu), gi_id),
                     "see tessera-sim mig list");
  }
  const std::vector<ComputeInstance> compute = found->compute;
  for (const ComputeInstance& item : compute) {
    if (const auto done = DestroyComputeInstance(gpu, gi_id, item.id); !done) {
      return BadConfig("MigInUse", Format("{}: {} is {}", Label(gpu), item.uuid, ToString(done.error())),
                       "end its processes: tessera-sim set --gpu G 'processes=[]'");
    }
  }
  if (const auto done = DestroyGpuInstance(gpu, gi_id); !done) {
    return BadConfig("MigInUse", Format("{}: GPU instance {} is {}", Label(gpu), gi_id, ToString(done.error())));
  }
  return {};
}

std::string Line(const Model& model, const Gpu& gpu, const GpuInstance& instance) {
  const MigProfile* profile = FindProfileById(model, instance.profile_id);
  const std::string name = profile == nullptr ? "unknown" : ProfileName(model, *profile);
  std::string text =
      Format("{}: {:<12} GPU instance {:<2} at {}:{}\n", Label(gpu), name, instance.id, instance.start, instance.size);
  for (const ComputeInstance& item : instance.compute) {
    text += Format("  {}  index {}, compute instance {}, {}c\n", item.uuid, item.mig_index, item.id, item.size);
  }
  return text;
}

std::string Lines(const Machine& machine, const Gpu& gpu) {
  const Model& model = machine.models.at(gpu.model);
  if (model.mig.empty()) return Format("{}: has no MIG\n", Label(gpu));
  const std::string pending = gpu.mig_mode == gpu.mig_pending ? "" : ", changes with the next reset";
  std::string text = Format("{}: MIG {}{}\n", Label(gpu), gpu.mig_mode == 0 ? "off" : "on", pending);
  for (const GpuInstance& instance : gpu.instances) text += Line(model, gpu, instance);
  return text;
}

}  // namespace

Output EnableMig(const Path& root, const std::string& gpu, bool only_pending) {
  return SetMode(root, gpu, 1, only_pending);
}

Output DisableMig(const Path& root, const std::string& gpu, bool only_pending) {
  return SetMode(root, gpu, 0, only_pending);
}

Output CreateMig(const Path& root, const std::string& gpu, const std::string& instance, std::optional<unsigned> start) {
  InstanceText text;
  if (!FromText(instance, text)) {
    return BadConfig("BadMigProfile", Format("{} is no MIG instance", Quote(instance)),
                     "write PROFILE[@START][/CUTS]: 2g.20gb, 9, 3g.40gb@4, 3g.40gb/2c+1c");
  }
  if (start) text.start = start;
  std::string line;
  const auto change = [&](Machine& machine, Gpu& found) -> Result<void> {
    if (found.mig_mode == 0) {
      return BadConfig("MigOff", Format("MIG is off on {}", Label(found)), "run tessera-sim mig enable first");
    }
    TESSERA_TRY(AddInstance(machine, found, text));
    line = Line(machine.models.at(found.model), found, found.instances.back());
    return {};
  };
  TESSERA_TRY(ChangeMig(root, gpu, change));
  return line;
}

Output DestroyMig(const Path& root, const std::string& gpu, std::optional<unsigned> gpu_instance) {
  std::size_t before = 0;
  const auto change = [&](Machine&, Gpu& found) -> Result<void> {
    before = found.instances.size();
    if (gpu_instance) return Destroy(found, *gpu_instance);
    while (!found.instances.empty()) TESSERA_TRY(Destroy(found, found.instances.back().id));
    return {};
  };
  TESSERA_ASSIGN(const Gpu now, ChangeMig(root, gpu, change));
  return Format("{}: GPU instances removed: {}, left: {}\n", Label(now), before - now.instances.size(),
                now.instances.size());
}

Output ListMig(const Path& root, const std::string& gpu) {
  TESSERA_ASSIGN(const auto store, OpenStore(root));
  TESSERA_ASSIGN(const auto current, store->Read());
  Machine machine = *current;
  if (!gpu.empty()) {
    TESSERA_ASSIGN(const Gpu* found, FindGpu(machine, gpu));
    return Lines(machine, *found);
  }
  std::string text;
  for (const Gpu& found : machine.gpus) text += Lines(machine, found);
  return text;
}

}  // namespace tessera::sim::command
