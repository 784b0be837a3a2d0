#include "nvml/identities.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::nvml {
namespace {

bool Has(const MachineVitals& machine, const std::string& uuid) {
  return std::ranges::find(machine.gpus, uuid, &GpuVitals::uuid) != machine.gpus.end();
}

// Takes GPUs without a name out, and says what was the matter with them.
void MakeGaps(MachineVitals& machine) {
  for (std::size_t index = 0; index < machine.gpus.size(); ++index) {
    const GpuVitals& gpu = machine.gpus[index];
    if (!gpu.uuid.empty()) continue;
    for (const Gap& gap : gpu.gaps) {
      machine.gaps.push_back({gap.function, Format("GPU with index {}: {}", index, gap.reason)});
    }
  }
  std::erase_if(machine.gpus, [](const GpuVitals& gpu) { return gpu.uuid.empty(); });
}

}  // namespace

void Identities::Complete(MachineVitals& machine) {
  Name(machine);
  Remember(machine);
  MakeGaps(machine);
  for (const Identity& identity : seen_) {
    if (Has(machine, identity.uuid)) continue;
    machine.gpus.push_back({.uuid = identity.uuid, .bus_id = identity.bus_id, .lost = true});
  }
}

void Identities::Clear() {
  by_index_.clear();
  seen_.clear();
}

void Identities::Name(MachineVitals& machine) const {
  if (by_index_.size() != machine.gpus.size()) return;
  for (std::size_t index = 0; index < machine.gpus.size(); ++index) {
    GpuVitals& gpu = machine.gpus[index];
    const Identity& before = by_index_[index];
    if (!gpu.uuid.empty() || Has(machine, before.uuid)) continue;
    gpu.uuid = before.uuid;
    gpu.bus_id = before.bus_id;
  }
}

void Identities::Remember(const MachineVitals& machine) {
  by_index_.clear();
  for (const GpuVitals& gpu : machine.gpus) {
    by_index_.push_back({gpu.uuid, gpu.bus_id});
    if (gpu.uuid.empty() || std::ranges::find(seen_, gpu.uuid, &Identity::uuid) != seen_.end()) continue;
    seen_.push_back(by_index_.back());
  }
}

}  // namespace tessera::nvml
