// MIG: the mode, the GPU instances, and the devices that instances become.
#include "sim/library/mig.h"

#include <algorithm>

namespace tessera::sim::library {
namespace {

bool InUse(const Gpu& gpu) { return !gpu.processes.empty() || !gpu.instances.empty(); }

// What a mode switch comes to: at once from Hopper on, after a reset before, never while somebody is using the GPU.
Return ActivationOf(const Target& t, unsigned mode) {
  if (t.gpu.mig_mode == mode) return kSuccess;
  if (t.gpu.mig_activation != 0) return static_cast<Return>(t.gpu.mig_activation);
  if (InUse(t.gpu)) return kInUse;
  return t.model.resetless_mig ? kSuccess : kResetRequired;
}

// The table row of a profile number, by the rules of enumeration: 2 past what the library knows, 3 for what the board
// does not have.
Outcome<const MigProfile*> ByNumber(const View& v, unsigned number) {
  if (v.is_mig()) return Fail(kInvalidArgument);
  if (v.model.mig.empty()) return Fail(kNotSupported);
  if (number >= ProfileCount(v.machine.nvml_header)) return Fail(kInvalidArgument);
  const MigProfile* profile = FindProfileByNumber(v.model, number);
  if (profile == nullptr) return Fail(kNotSupported);
  return profile;
}

Outcome<const MigProfile*> ById(const View& v, unsigned id) {
  if (v.is_mig()) return Fail(kInvalidArgument);
  if (v.model.mig.empty()) return Fail(kNotSupported);
  const MigProfile* profile = FindProfileById(v.model, id);
  if (profile == nullptr) return Fail(kInvalidArgument);
  return profile;
}

// Fills what all three structs have.
template <class Info>
Info ProfileInfo(const View& v, const MigProfile& profile) {
  Info info{};
  info.id = profile.id;
  info.sliceCount = profile.slices;
  info.instanceCount = profile.instances;
  info.multiprocessorCount = profile.multiprocessors;
  info.copyEngineCount = profile.copy_engines;
  info.decoderCount = profile.decoders;
  info.encoderCount = profile.encoders;
  info.jpegCount = profile.jpegs;
  info.ofaCount = profile.ofas;
  info.memorySizeMB = profile.memory_mb;
  // Version 3 has a name as well, which 580.159.04 leaves empty.
  if constexpr (std::same_as<Info, GpuInstanceProfileInfoV2>) {
    SetText(info.name, MigName(v.model, profile, profile.slices));
  }
  return info;
}

using FindProfile = Outcome<const MigProfile*> (*)(const View&, unsigned);

template <class Out>
Return AnswerProfile(std::string_view function, Device device, FindProfile find, unsigned key, const Out& out) {
  using Info = std::remove_pointer_t<decltype(MakeSink(out).out)>;
  return Answer(function, device, out, [&](const View& v) -> Outcome<Info> {
    const auto profile = find(v, key);
    if (!profile.has_value()) return Fail(profile.error());
    return ProfileInfo<Info>(v, **profile);
  });
}

// Version 2 or 3, anything else is INVALID_ARGUMENT. The real one clears the version of what it has answered.
Return AnswerVersionedProfile(std::string_view function, Device device, FindProfile find, unsigned key,
                              GpuInstanceProfileInfoV2* info) {
  Return result = kUnknown;
  if (Asks<GpuInstanceProfileInfoV3>(info, 3)) {
    auto* newer = reinterpret_cast<GpuInstanceProfileInfoV3*>(info);
    result = AnswerProfile(function, device, find, key, Versioned{newer, 3});
  } else {
    const Versioned<GpuInstanceProfileInfoV2> sink{info, 2, kInvalidArgument};
    result = AnswerProfile(function, device, find, key, sink);
  }
  if (result == kSuccess) info->version = 0;
  return result;
}

Return AnswerPlacements(std::string_view function, Device device, unsigned profile_id, Placement* placements,
                        unsigned* count) {
  return Answer(function, device, Filled{placements, count}, [&](const View& v) -> Outcome<std::vector<Placement>> {
    const auto profile = ById(v, profile_id);
    if (!profile.has_value()) return Fail(profile.error());
    std::vector<Placement> all;
    for (const unsigned start : (*profile)->starts) all.push_back({.start = start, .size = (*profile)->size});
    return all;
  });
}

Return CreateInstance(std::string_view function, Device device, unsigned profile_id, std::optional<unsigned> start,
                      abi::GpuInstance* out) {
  std::optional<unsigned> minor;
  const Return result = Change(function, device, [&](Target& t) -> Return {
    if (out == nullptr || t.is_mig()) return kInvalidArgument;
    const auto made = CreateGpuInstance(t.model, t.gpu, profile_id, start);
    if (!made.has_value()) return ToNvml(made.error());
    *out = InstanceHandle(t.gpu, **made);
    minor = t.gpu.minor;
    return kSuccess;
  });
  return AnnounceMigChange(result, minor);
}

Outcome<unsigned> MaxMigDevices(const View& v) {
  if (v.is_mig()) return Fail(kInvalidArgument);
  unsigned most = 0;
  for (const MigProfile& profile : v.model.mig) most = std::max(most, profile.instances);
  return v.gpu.mig_mode == 1 ? most : 0;
}

// A slot is empty when MIG is off, when nothing is in it, and when this process may not open its capability nodes.
Outcome<Subject> MigDeviceAt(const Subject& parent, unsigned index) {
  for (const GpuInstance& instance : parent.gpu->instances) {
    for (const ComputeInstance& compute : instance.compute) {
      if (compute.mig_index != index || !IsVisible(*parent.gpu, instance, compute)) continue;
      return Subject{.gpu = parent.gpu, .instance = &instance, .compute = &compute};
    }
  }
  return Fail(kNotFound);
}

// Whole GPUs answer INVALID_ARGUMENT where only a MIG device makes sense.
template <class Read>
Return AnswerMig(std::string_view function, Device device, auto* out, const Read& read) {
  using Value = std::remove_pointer_t<decltype(out)>;
  return Answer(function, device, out, [&](const View& v) -> Outcome<Value> {
    if (!v.is_mig()) return Fail(kInvalidArgument);
    return read(v);
  });
}

}  // namespace

Return AnnounceMigChange(Return result, std::optional<unsigned> minor) {
  if (const auto store = CurrentStore(); store && minor && result == kSuccess) {
    (void)store->Emit({.minor = *minor, .type = kEventMigConfigChange});  // The change is made, announced or not.
  }
  return result;
}

// ---- Mode.

NVML(nvmlDeviceGetMigMode, Device device, unsigned* current, unsigned* pending) {
  return Answer(__func__, device, All(current, pending), [](const View& v) -> Outcome<std::tuple<unsigned, unsigned>> {
    if (v.is_mig()) return Fail(kInvalidArgument);
    if (v.model.mig.empty()) return Fail(kNotSupported);
    return std::tuple(v.gpu.mig_mode, v.gpu.mig_pending);
  });
}

NVML(nvmlDeviceSetMigMode, Device device, unsigned mode, Return* activation) {
  std::optional<unsigned> minor;
  const Return result = Change(__func__, device, [&](Target& t) {
    if (activation == nullptr || mode > 1 || t.is_mig()) return kInvalidArgument;
    if (t.model.mig.empty()) return kNotSupported;
    *activation = ActivationOf(t, mode);
    t.gpu.mig_pending = mode;
    if (*activation == kSuccess) t.gpu.mig_mode = mode;
    minor = t.gpu.minor;
    return kSuccess;
  });
  return AnnounceMigChange(result, minor);
}

// ---- Profiles.

NVML(nvmlDeviceGetGpuInstanceProfileInfo, Device device, unsigned number, GpuInstanceProfileInfo* info) {
  return AnswerProfile(__func__, device, ByNumber, number, MakeSink(info));
}

NVML(nvmlDeviceGetGpuInstanceProfileInfoV, Device device, unsigned number, GpuInstanceProfileInfoV2* info) {
  return AnswerVersionedProfile(__func__, device, ByNumber, number, info);
}

NVML(nvmlDeviceGetGpuInstanceProfileInfoByIdV, Device device, unsigned id, GpuInstanceProfileInfoV2* info) {
  return AnswerVersionedProfile(__func__, device, ById, id, info);
}

NVML(nvmlDeviceGetGpuInstancePossiblePlacements_v2, Device device, unsigned profile_id, Placement* placements,
     unsigned* count) {
  return AnswerPlacements(__func__, device, profile_id, placements, count);
}
NVML(nvmlDeviceGetGpuInstancePossiblePlacements, Device device, unsigned profile_id, Placement* placements,
     unsigned* count) {
  return AnswerPlacements(__func__, device, profile_id, placements, count);
}

NVML(nvmlDeviceGetGpuInstanceRemainingCapacity, Device device, unsigned profile_id, unsigned* count) {
  return Answer(__func__, device, count, [&](const View& v) -> Outcome<unsigned> {
    if (const auto profile = ById(v, profile_id); !profile.has_value()) return Fail(profile.error());
    return RemainingCapacity(v.model, v.gpu, profile_id);
  });
}

// ---- GPU instances.

NVML(nvmlDeviceCreateGpuInstance, Device device, unsigned profile_id, abi::GpuInstance* instance) {
  return CreateInstance(__func__, device, profile_id, std::nullopt, instance);
}

NVML(nvmlDeviceCreateGpuInstanceWithPlacement, Device device, unsigned profile_id, const Placement* placement,
     abi::GpuInstance* instance) {
  if (placement == nullptr) return CreateInstance(__func__, device, profile_id, std::nullopt, nullptr);
  return CreateInstance(__func__, device, profile_id, placement->start, instance);
}

NVML(nvmlDeviceGetGpuInstances, Device device, unsigned profile_id, abi::GpuInstance* instances, unsigned* count) {
  if (instances == nullptr) count = nullptr;  // INVALID_ARGUMENT
  return Answer(__func__, device, Filled{instances, count},
                [&](const View& v) -> Outcome<std::vector<abi::GpuInstance>> {
                  if (const auto profile = ById(v, profile_id); !profile.has_value()) return Fail(profile.error());
                  std::vector<abi::GpuInstance> found;
                  for (const GpuInstance& instance : v.gpu.instances) {
                    if (instance.profile_id == profile_id) found.push_back(InstanceHandle(v.gpu, instance));
                  }
                  return found;
                });
}

NVML(nvmlDeviceGetGpuInstanceById, Device device, unsigned id, abi::GpuInstance* instance) {
  return Answer(__func__, device, instance, [&](const View& v) -> Outcome<abi::GpuInstance> {
    if (v.is_mig()) return Fail(kInvalidArgument);
    if (v.model.mig.empty()) return Fail(kNotSupported);
    const auto found = std::ranges::find(v.gpu.instances, id, &GpuInstance::id);
    if (found == v.gpu.instances.end()) return Fail(kNotFound);
    return InstanceHandle(v.gpu, *found);
  });
}

NVML(nvmlGpuInstanceGetInfo, abi::GpuInstance instance, GpuInstanceInfo* info) {
  return Answer(__func__, instance, info, [](const View& v) {
    return GpuInstanceInfo{.device = HandleOf(v.gpu),
                           .id = v.instance->id,
                           .profileId = v.instance->profile_id,
                           .placement = {.start = v.instance->start, .size = v.instance->size}};
  });
}

NVML(nvmlGpuInstanceDestroy, abi::GpuInstance instance) {
  std::optional<unsigned> minor;
  const Return result = Change(__func__, instance, [&](Target& t) -> Return {
    minor = t.gpu.minor;
    const auto gone = DestroyGpuInstance(t.gpu, t.instance->id);
    return gone.has_value() ? kSuccess : ToNvml(gone.error());
  });
  if (result == kSuccess) Retire(instance);
  return AnnounceMigChange(result, minor);
}

// ---- MIG devices.

NVML(nvmlDeviceGetMaxMigDeviceCount, Device device, unsigned* count) {
  return Answer(__func__, device, count, MaxMigDevices);
}

NVML(nvmlDeviceGetMigDeviceHandleByIndex, Device device, unsigned index, Device* mig) {
  return Answer(__func__, device, mig, [&](const View& v) -> Outcome<Device> {
    const auto most = MaxMigDevices(v);
    if (!most.has_value()) return Fail(most.error());
    if (*most != 0 && index >= *most) return Fail(kInvalidArgument);
    const auto found = MigDeviceAt({.gpu = &v.gpu}, index);
    if (!found.has_value()) return Fail(found.error());
    return HandleOf(*found->gpu, *found->instance, *found->compute);
  });
}

NVML(nvmlDeviceIsMigDeviceHandle, Device device, unsigned* is_mig) {
  return Answer(__func__, device, is_mig, [](const View& v) { return v.is_mig() ? 1U : 0U; });
}

NVML(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, Device mig, Device* parent) {
  return AnswerMig(__func__, mig, parent, [](const View& v) { return HandleOf(v.gpu); });
}

NVML(nvmlDeviceGetGpuInstanceId, Device mig, unsigned* id) {
  return AnswerMig(__func__, mig, id, [](const View& v) { return v.instance->id; });
}

NVML(nvmlDeviceGetComputeInstanceId, Device mig, unsigned* id) {
  return AnswerMig(__func__, mig, id, [](const View& v) { return v.compute->id; });
}

}  // namespace tessera::sim::library
