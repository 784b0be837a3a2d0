// The handles this process has given out, and what they mean.
#include <algorithm>
#include <compare>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "sim/library/library.h"

namespace tessera::sim::library {
namespace {

enum class Kind : std::uint8_t { kGpu, kMigDevice, kGpuInstance, kComputeInstance };

// Enough to find a thing again in any later state of the machine, and not to mistake another for it.
struct Identity {
  Kind kind = Kind::kGpu;
  std::string gpu;                                   // UUID
  unsigned instance = 0, profile_id = 0, start = 0;  // Of the GPU instance.
  unsigned compute = 0;                              // Id of the compute instance …
  std::string mig;                                   // … and the UUID of its MIG device.
  auto operator<=>(const Identity&) const = default;
};

struct Entry {
  Identity identity;
  bool living = true;
};

// Safe to call from any thread. Entries are never freed: an address is never given out twice.
class Registry {
 public:
  void* HandleOf(const Identity& identity) {
    const std::scoped_lock hold(mutex_);
    const auto [place, is_new] = living_.try_emplace(identity, nullptr);
    if (is_new) {
      place->second = &entries_.emplace_back(Entry{identity});
      known_.emplace(place->second, place->second);
    }
    return place->second;
  }

  void Retire(const void* handle) {
    const std::scoped_lock hold(mutex_);
    const auto entry = known_.find(handle);
    if (entry == known_.end()) return;
    entry->second->living = false;
    living_.erase(entry->second->identity);
  }

  // What a pointer stands for; nothing when it is not ours.
  std::optional<Entry> Find(const void* handle) {
    const std::scoped_lock hold(mutex_);
    const auto entry = known_.find(handle);
    return entry == known_.end() ? std::nullopt : std::optional(*entry->second);
  }

 private:
  std::mutex mutex_;           // Guards all below.
  std::deque<Entry> entries_;  // Their addresses are the handles.
  std::unordered_map<const void*, Entry*> known_;
  std::map<Identity, Entry*> living_;
};

Registry& Handles() {
  static Registry registry;
  return registry;
}

template <class Handle>
Handle ToHandle(const Identity& identity) {
  return static_cast<Handle>(Handles().HandleOf(identity));
}

Identity Name(Kind kind, const Gpu& gpu, const GpuInstance* instance = nullptr, const ComputeInstance* ci = nullptr) {
  Identity identity{.kind = kind, .gpu = gpu.uuid, .mig = {}};
  if (instance != nullptr) {
    identity.instance = instance->id;
    identity.profile_id = instance->profile_id;
    identity.start = instance->start;
  }
  if (ci != nullptr) {
    identity.compute = ci->id;
    identity.mig = ci->uuid;
  }
  return identity;
}

Outcome<Subject> Find(const Identity& identity, const Machine& machine) {
  const auto gpu = std::ranges::find(machine.gpus, identity.gpu, &Gpu::uuid);
  if (gpu == machine.gpus.end() || !gpu->present || gpu->vfio) return Fail(kGpuIsLost);
  Subject subject{.gpu = &*gpu};
  if (identity.kind == Kind::kGpu) return subject;
  for (const GpuInstance& instance : gpu->instances) {
    if (Name(Kind::kGpuInstance, *gpu, &instance) == identity) {
      subject.instance = &instance;
      return subject;
    }
    for (const ComputeInstance& compute : instance.compute) {
      if (Name(identity.kind, *gpu, &instance, &compute) != identity) continue;
      subject.instance = &instance;
      subject.compute = &compute;
      return subject;
    }
  }
  return Fail(kNotFound);
}

Locator Refuse(Return code) {
  return [code](const Machine&) { return Outcome<Subject>(Fail(code)); };
}

Locator Locate(const void* handle, std::initializer_list<Kind> accepted) {
  const auto entry = Handles().Find(handle);
  if (!entry || std::ranges::find(accepted, entry->identity.kind) == accepted.end()) return Refuse(kInvalidArgument);
  if (!entry->living) return Refuse(kNotFound);
  return [identity = entry->identity](const Machine& machine) { return Find(identity, machine); };
}

}  // namespace

Locator At(Device device) { return Locate(device, {Kind::kGpu, Kind::kMigDevice}); }
Locator At(abi::GpuInstance instance) { return Locate(instance, {Kind::kGpuInstance}); }
Locator At(abi::ComputeInstance instance) { return Locate(instance, {Kind::kComputeInstance}); }

Device HandleOf(const Gpu& gpu) { return ToHandle<Device>(Name(Kind::kGpu, gpu)); }

Device HandleOf(const Gpu& gpu, const GpuInstance& instance, const ComputeInstance& compute) {
  return ToHandle<Device>(Name(Kind::kMigDevice, gpu, &instance, &compute));
}

abi::GpuInstance InstanceHandle(const Gpu& gpu, const GpuInstance& instance) {
  return ToHandle<abi::GpuInstance>(Name(Kind::kGpuInstance, gpu, &instance));
}

abi::ComputeInstance ComputeHandle(const Gpu& gpu, const GpuInstance& instance, const ComputeInstance& compute) {
  return ToHandle<abi::ComputeInstance>(Name(Kind::kComputeInstance, gpu, &instance, &compute));
}

void Retire(const void* handle) { Handles().Retire(handle); }

}  // namespace tessera::sim::library
