// Compute instances, and the attributes of the MIG devices they make.
#include <algorithm>
#include <span>

#include "base/text.h"
#include "sim/library/mig.h"
#include "sim/symbols.h"

namespace tessera::sim::library {
namespace {

struct Known {
  unsigned since;  // HeaderRank
  unsigned count;
};

unsigned CountFor(std::string_view header, std::span<const Known> steps) {
  unsigned count = 0;
  for (const Known& step : steps) {
    if (HeaderRank(header) >= step.since) count = step.count;
  }
  return count;
}

// The table row of the GPU instance that a handle stands for, and the way it is cut.
struct Division {
  const MigProfile* whole;
  CiProfile part;
};

Outcome<Division> DivisionOf(const View& v, unsigned number) {
  const MigProfile* whole = FindProfileById(v.model, v.instance->profile_id);
  if (whole == nullptr || number >= ComputeProfileCount(v.machine.nvml_header)) return Fail(kInvalidArgument);
  auto part = FindComputeProfile(v.model, *v.instance, number);
  if (!part) return Fail(kNotSupported);
  return Division{whole, *std::move(part)};
}

template <class Info>
Info ProfileInfo(const View& v, const Division& division) {
  Info info{};
  info.id = division.part.profile;
  info.sliceCount = division.part.slices;
  info.instanceCount = division.part.instances;
  info.multiprocessorCount = division.part.multiprocessors;
  info.sharedCopyEngineCount = division.whole->copy_engines;
  info.sharedDecoderCount = division.whole->decoders;
  info.sharedEncoderCount = division.whole->encoders;
  info.sharedJpegCount = division.whole->jpegs;
  info.sharedOfaCount = division.whole->ofas;
  if constexpr (requires { info.name; }) SetText(info.name, MigName(v.model, *division.whole, division.part.slices));
  return info;
}

template <class Out>
Return AnswerProfile(std::string_view function, abi::GpuInstance instance, unsigned number, unsigned engine,
                     const Out& out) {
  using Info = std::remove_pointer_t<decltype(MakeSink(out).out)>;
  return Answer(function, instance, out, [&](const View& v) -> Outcome<Info> {
    if (engine != 0) return Fail(kInvalidArgument);  // SHARED is the only engine profile.
    const auto division = DivisionOf(v, number);
    if (!division.has_value()) return Fail(division.error());
    return ProfileInfo<Info>(v, *division);
  });
}

// Whether a compute instance of `slices` at `start` would lie on none of those there are.
bool IsFree(const GpuInstance& instance, unsigned start, unsigned slices) {
  return std::ranges::none_of(instance.compute, [&](const ComputeInstance& other) {
    return start < other.start + other.size && other.start < start + slices;
  });
}

// Greedy from the left, which is how instances without a given start are placed.
unsigned Remaining(const GpuInstance& instance, const CiProfile& part) {
  unsigned count = 0, end = 0;
  for (const unsigned start : part.starts) {
    if (start < end || !IsFree(instance, start, part.slices)) continue;
    end = start + part.slices;
    ++count;
  }
  const auto same = std::ranges::count(instance.compute, part.profile, &ComputeInstance::profile);
  return std::min(count, part.instances - std::min(part.instances, static_cast<unsigned>(same)));
}

Return CreateInstance(std::string_view function, abi::GpuInstance instance, unsigned profile,
                      std::optional<unsigned> start, abi::ComputeInstance* out) {
  std::optional<unsigned> minor;
  const Return result = Change(function, instance, [&](Target& t) -> Return {
    if (out == nullptr) return kInvalidArgument;
    const unsigned gi = t.instance->id;
    const auto made = CreateComputeInstance(t.model, t.gpu, gi, profile, start, NextMigUuid(t.machine));
    if (!made.has_value()) return ToNvml(made.error());
    const auto parent = std::ranges::find(t.gpu.instances, gi, &GpuInstance::id);
    *out = ComputeHandle(t.gpu, *parent, **made);
    minor = t.gpu.minor;
    return kSuccess;
  });
  return AnnounceMigChange(result, minor);
}

ComputeInstanceInfo InfoOf(const View& v) {
  return {.device = HandleOf(v.gpu, *v.instance, *v.compute),
          .gpuInstance = InstanceHandle(v.gpu, *v.instance),
          .id = v.compute->id,
          .profileId = v.compute->profile,
          .placement = {.start = v.compute->start, .size = v.compute->size}};
}

Outcome<DeviceAttributes> AttributesOf(const View& v) {
  if (!v.is_mig()) return Fail(kNotSupported);
  const auto division = DivisionOf(v, v.compute->profile);
  if (!division.has_value()) return Fail(kUnknown);
  return DeviceAttributes{.multiprocessorCount = division->part.multiprocessors,
                          .sharedCopyEngineCount = division->whole->copy_engines,
                          .sharedDecoderCount = division->whole->decoders,
                          .sharedEncoderCount = division->whole->encoders,
                          .sharedJpegCount = division->whole->jpegs,
                          .sharedOfaCount = division->whole->ofas,
                          .gpuInstanceSliceCount = division->whole->slices,
                          .computeInstanceSliceCount = division->part.slices,
                          .memorySizeMB = division->whole->memory_mb};
}

}  // namespace

unsigned ProfileCount(std::string_view header) {
  constexpr Known kSteps[] = {{0, 5}, {1102, 6}, {1103, 7}, {1104, 8}, {1200, 10}, {1208, 13}, {1209, 17}, {1302, 18}};
  return CountFor(header, kSteps);
}

unsigned ComputeProfileCount(std::string_view header) {
  constexpr Known kSteps[] = {{0, 7}, {1200, 8}, {1303, 9}};
  return CountFor(header, kSteps);
}

std::string MigName(const Model& model, const MigProfile& profile, unsigned compute_slices) {
  const std::string name = ProfileName(model, profile);
  if (compute_slices == profile.slices) return Format("MIG {}", name);
  return Format("MIG {}c.{}", compute_slices, name);
}

std::string MigName(const View& v) {
  const MigProfile* profile = FindProfileById(v.model, v.instance->profile_id);
  const auto part = FindComputeProfile(v.model, *v.instance, v.compute->profile);
  return profile == nullptr || !part ? "MIG" : MigName(v.model, *profile, part->slices);
}

std::optional<CiProfile> FindComputeProfile(const Model& model, const GpuInstance& instance, unsigned profile) {
  const MigProfile* whole = FindProfileById(model, instance.profile_id);
  if (whole == nullptr) return std::nullopt;
  for (CiProfile& part : ComputeProfiles(model, *whole)) {
    if (part.profile == profile) return std::move(part);
  }
  return std::nullopt;
}

NVML(nvmlGpuInstanceGetComputeInstanceProfileInfo, abi::GpuInstance instance, unsigned number, unsigned engine,
     ComputeInstanceProfileInfo* info) {
  return AnswerProfile(__func__, instance, number, engine, MakeSink(info));
}

NVML(nvmlGpuInstanceGetComputeInstanceProfileInfoV, abi::GpuInstance instance, unsigned number, unsigned engine,
     ComputeInstanceProfileInfoV2* info) {
  Return result = kUnknown;
  if (Asks<ComputeInstanceProfileInfoV3>(info, 3)) {
    auto* newer = reinterpret_cast<ComputeInstanceProfileInfoV3*>(info);
    result = AnswerProfile(__func__, instance, number, engine, Versioned{newer, 3});
  } else {
    const Versioned<ComputeInstanceProfileInfoV2> sink{info, 2, kInvalidArgument};
    result = AnswerProfile(__func__, instance, number, engine, sink);
  }
  if (result == kSuccess) info->version = 0;  // As its sibling for GPU instances does.
  return result;
}

NVML(nvmlGpuInstanceGetComputeInstancePossiblePlacements, abi::GpuInstance instance, unsigned profile,
     Placement* placements, unsigned* count) {
  return Answer(__func__, instance, Filled{placements, count}, [&](const View& v) -> Outcome<std::vector<Placement>> {
    const auto division = DivisionOf(v, profile);
    if (!division.has_value()) return Fail(division.error());
    std::vector<Placement> all;
    for (const unsigned start : division->part.starts) all.push_back({.start = start, .size = division->part.slices});
    return all;
  });
}

NVML(nvmlGpuInstanceGetComputeInstanceRemainingCapacity, abi::GpuInstance instance, unsigned profile, unsigned* count) {
  return Answer(__func__, instance, count, [&](const View& v) -> Outcome<unsigned> {
    const auto division = DivisionOf(v, profile);
    if (!division.has_value()) return Fail(division.error());
    return Remaining(*v.instance, division->part);
  });
}

NVML(nvmlGpuInstanceCreateComputeInstance, abi::GpuInstance instance, unsigned profile, abi::ComputeInstance* out) {
  return CreateInstance(__func__, instance, profile, std::nullopt, out);
}

NVML(nvmlGpuInstanceCreateComputeInstanceWithPlacement, abi::GpuInstance instance, unsigned profile,
     const Placement* placement, abi::ComputeInstance* out) {
  if (placement == nullptr) return CreateInstance(__func__, instance, profile, std::nullopt, nullptr);
  return CreateInstance(__func__, instance, profile, placement->start, out);
}

NVML(nvmlGpuInstanceGetComputeInstances, abi::GpuInstance instance, unsigned profile, abi::ComputeInstance* instances,
     unsigned* count) {
  if (instances == nullptr) count = nullptr;  // INVALID_ARGUMENT
  return Answer(__func__, instance, Filled{instances, count},
                [&](const View& v) -> Outcome<std::vector<abi::ComputeInstance>> {
                  if (const auto division = DivisionOf(v, profile); !division.has_value())
                    return Fail(division.error());
                  std::vector<abi::ComputeInstance> found;
                  for (const ComputeInstance& compute : v.instance->compute) {
                    if (compute.profile == profile) found.push_back(ComputeHandle(v.gpu, *v.instance, compute));
                  }
                  return found;
                });
}

NVML(nvmlGpuInstanceGetComputeInstanceById, abi::GpuInstance instance, unsigned id, abi::ComputeInstance* out) {
  return Answer(__func__, instance, out, [&](const View& v) -> Outcome<abi::ComputeInstance> {
    const auto found = std::ranges::find(v.instance->compute, id, &ComputeInstance::id);
    if (found == v.instance->compute.end()) return Fail(kNotFound);
    return ComputeHandle(v.gpu, *v.instance, *found);
  });
}

NVML(nvmlComputeInstanceGetInfo_v2, abi::ComputeInstance instance, ComputeInstanceInfo* info) {
  return Answer(__func__, instance, info, InfoOf);
}
NVML(nvmlComputeInstanceGetInfo, abi::ComputeInstance instance, ComputeInstanceInfoV1* info) {
  return Answer(__func__, instance, info, [](const View& v) {
    const ComputeInstanceInfo all = InfoOf(v);
    return ComputeInstanceInfoV1{
        .device = all.device, .gpuInstance = all.gpuInstance, .id = all.id, .profileId = all.profileId};
  });
}

NVML(nvmlComputeInstanceDestroy, abi::ComputeInstance instance) {
  std::optional<unsigned> minor;
  const Return result = Change(__func__, instance, [&](Target& t) -> Return {
    minor = t.gpu.minor;
    const auto gone = DestroyComputeInstance(t.gpu, t.instance->id, t.compute->id);
    return gone.has_value() ? kSuccess : ToNvml(gone.error());
  });
  if (result == kSuccess) Retire(instance);
  return AnnounceMigChange(result, minor);
}

NVML(nvmlDeviceGetAttributes_v2, Device device, DeviceAttributes* attributes) {
  return Answer(__func__, device, attributes, AttributesOf);
}
NVML(nvmlDeviceGetAttributes, Device device, DeviceAttributesV1* attributes) {
  return Answer(__func__, device, attributes, [](const View& v) -> Outcome<DeviceAttributesV1> {
    const auto all = AttributesOf(v);
    if (!all.has_value()) return Fail(all.error());
    return DeviceAttributesV1{.multiprocessorCount = all->multiprocessorCount,
                              .sharedCopyEngineCount = all->sharedCopyEngineCount,
                              .sharedDecoderCount = all->sharedDecoderCount,
                              .sharedEncoderCount = all->sharedEncoderCount,
                              .sharedJpegCount = all->sharedJpegCount,
                              .sharedOfaCount = all->sharedOfaCount};
  });
}

}  // namespace tessera::sim::library
