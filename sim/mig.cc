#include "sim/mig.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/fnv.h"
#include "base/text.h"

namespace tessera::sim {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::uint64_t Slots(unsigned start, unsigned size) { return ((std::uint64_t{1} << size) - 1) << start; }

std::uint64_t TakenMemory(const Gpu& gpu) {
  std::uint64_t taken = 0;
  for (const GpuInstance& instance : gpu.instances) taken |= Slots(instance.start, instance.size);
  return taken;
}

unsigned ComputeSlices(const Model& model) {
  unsigned most = 0;
  for (const MigProfile& profile : model.mig) most = std::max(most, profile.slices);
  return most;
}

unsigned UsedComputeSlices(const Model& model, const Gpu& gpu) {
  unsigned used = 0;
  for (const GpuInstance& instance : gpu.instances) {
    if (const MigProfile* profile = FindProfileById(model, instance.profile_id)) used += profile->slices;
  }
  return used;
}

unsigned CountOf(const Gpu& gpu, unsigned profile_id) {
  return static_cast<unsigned>(std::ranges::count(gpu.instances, profile_id, &GpuInstance::profile_id));
}

// Whether compute slices and the profile's own limit (one instance has the media engines) allow one more.
bool CountsAllow(const Model& model, const Gpu& gpu, const MigProfile& profile) {
  return CountOf(gpu, profile.id) < profile.instances &&
         UsedComputeSlices(model, gpu) + profile.slices <= ComputeSlices(model);
}

bool IsFree(const MigProfile& profile, unsigned start, std::uint64_t taken) {
  return (Slots(start, profile.size) & taken) == 0;
}

// How many placements of all profiles would still be free.
unsigned FreePlacements(const Model& model, std::uint64_t taken) {
  unsigned free = 0;
  for (const MigProfile& profile : model.mig) {
    for (const unsigned start : profile.starts) free += IsFree(profile, start, taken) ? 1 : 0;
  }
  return free;
}

std::optional<unsigned> BestStart(const Model& model, const Gpu& gpu, const MigProfile& profile) {
  const std::uint64_t taken = TakenMemory(gpu);
  std::optional<unsigned> best;
  unsigned best_left = 0;
  for (const unsigned start : profile.starts) {
    if (!IsFree(profile, start, taken)) continue;
    const unsigned left = FreePlacements(model, taken | Slots(start, profile.size));
    if (!best || left > best_left) best = start, best_left = left;
  }
  return best;
}

// The class is the share of memory: the whole has one id, halves the next two, quarters four, eighths eight. Inside a
// class the position decides: on H100 the 1g at slice k is 7 + k.
unsigned InstanceId(const Model& model, const Gpu& gpu, const MigProfile& profile, unsigned start) {
  unsigned width = MemorySlices(model);
  unsigned first = 0;
  unsigned ids = 1;
  while (width > 1 && profile.size * 2 <= width) {
    width /= 2;
    first += ids;
    ids *= 2;
  }
  unsigned id = first + start / std::max(width, 1U);
  while (std::ranges::find(gpu.instances, id, &GpuInstance::id) != gpu.instances.end()) ++id;
  return id;
}

GpuInstance* FindInstance(Gpu& gpu, unsigned id) {
  const auto found = std::ranges::find(gpu.instances, id, &GpuInstance::id);
  return found == gpu.instances.end() ? nullptr : &*found;
}

// The lowest number that `in_use` does not hold.
unsigned LowestFree(const std::vector<unsigned>& in_use) {
  unsigned number = 0;
  while (std::ranges::find(in_use, number) != in_use.end()) ++number;
  return number;
}

unsigned FreeMigIndex(const Gpu& gpu) {
  std::vector<unsigned> in_use;
  for (const GpuInstance& instance : gpu.instances) {
    for (const ComputeInstance& compute : instance.compute) in_use.push_back(compute.mig_index);
  }
  return LowestFree(in_use);
}

unsigned FreeComputeId(const GpuInstance& instance) {
  std::vector<unsigned> in_use;
  for (const ComputeInstance& compute : instance.compute) in_use.push_back(compute.id);
  return LowestFree(in_use);
}

std::optional<unsigned> FreeComputeStart(const GpuInstance& instance, const CiProfile& profile,
                                         std::optional<unsigned> wanted) {
  std::uint64_t taken = 0;
  for (const ComputeInstance& compute : instance.compute) taken |= Slots(compute.start, compute.size);
  for (const unsigned start : profile.starts) {
    if (wanted && *wanted != start) continue;
    if ((Slots(start, profile.slices) & taken) == 0) return start;
  }
  return std::nullopt;
}

// NVML_COMPUTE_INSTANCE_PROFILE_* of a size.
struct CiSize {
  unsigned slices, profile;
};
constexpr std::array kCiSizes{CiSize{1, 0}, CiSize{2, 1}, CiSize{3, 2}, CiSize{4, 3},
                              CiSize{6, 6}, CiSize{7, 4}, CiSize{8, 5}};
constexpr unsigned kCiProfiles = 9;

std::string_view NameSuffix(unsigned number) {
  switch (number) {
    case 0x7:
    case 0x8:
      return "+me";
    case 0xA:
    case 0xB:
    case 0xC:
    case 0x11:
      return "+gfx";
    case 0xD:
    case 0xE:
      return "-me";
    case 0xF:
    case 0x10:
      return "+me.all";
    default:
      return "";
  }
}

// FNV-1a, stirred so that near seeds give far results.
std::uint64_t Hash(std::string_view text, std::uint64_t basis) {
  std::uint64_t hash = Fnv1a(text, basis);
  hash = (hash ^ (hash >> 31)) * 0x7FB5D329728EA185;
  hash = (hash ^ (hash >> 27)) * 0x81DADEF4BC2DD44D;
  return hash ^ (hash >> 33);
}

}  // namespace

int ToNvml(MigError error) {
  switch (error) {
    case MigError::kNotSupported:
      return 3;
    case MigError::kInvalidProfile:
      return 2;
    case MigError::kNoRoom:
      return 23;
    case MigError::kInUse:
      return 19;
    case MigError::kNotFound:
      return 6;
  }
  return 999;
}

std::string_view ToString(MigError error) {
  switch (error) {
    case MigError::kNotSupported:
      return "not supported";
    case MigError::kInvalidProfile:
      return "no such profile or placement";
    case MigError::kNoRoom:
      return "no free placement";
    case MigError::kInUse:
      return "in use";
    case MigError::kNotFound:
      return "not found";
  }
  return "unknown";
}

const MigProfile* FindProfileById(const Model& model, unsigned id) {
  const auto found = std::ranges::find(model.mig, id, &MigProfile::id);
  return found == model.mig.end() ? nullptr : &*found;
}

const MigProfile* FindProfileByNumber(const Model& model, unsigned number) {
  const auto found = std::ranges::find(model.mig, number, &MigProfile::number);
  return found == model.mig.end() ? nullptr : &*found;
}

const MigProfile* FindProfileByText(const Model& model, std::string_view text) {
  if (const auto id = ParseNumber<unsigned>(text)) return FindProfileById(model, *id);
  for (const MigProfile& profile : model.mig) {
    if (ProfileName(model, profile) == text) return &profile;
  }
  return nullptr;
}

std::string ProfileName(const Model& model, const MigProfile& profile) {
  const double share = static_cast<double>(profile.memory_mb * kMiB) / static_cast<double>(model.memory_bytes);
  const double eighths = std::ceil(share * 8) / 8;
  const std::uint64_t total = (model.memory_bytes + kGiB - 1) / kGiB;
  return Format("{}g.{}gb{}", profile.slices, std::lround(eighths * static_cast<double>(total)),
                NameSuffix(profile.number));
}

unsigned MemorySlices(const Model& model) {
  unsigned most = 0;
  for (const MigProfile& profile : model.mig) most = std::max(most, profile.size);
  return most;
}

std::expected<GpuInstance*, MigError> CreateGpuInstance(const Model& model, Gpu& gpu, unsigned profile_id,
                                                        std::optional<unsigned> start) {
  if (model.mig.empty() || gpu.mig_mode == 0) return std::unexpected(MigError::kNotSupported);
  const MigProfile* profile = FindProfileById(model, profile_id);
  if (profile == nullptr) return std::unexpected(MigError::kInvalidProfile);
  if (start && std::ranges::find(profile->starts, *start) == profile->starts.end()) {
    return std::unexpected(MigError::kInvalidProfile);
  }
  if (!CountsAllow(model, gpu, *profile)) return std::unexpected(MigError::kNoRoom);
  const auto place = start ? start : BestStart(model, gpu, *profile);
  if (!place || !IsFree(*profile, *place, TakenMemory(gpu))) return std::unexpected(MigError::kNoRoom);

  GpuInstance instance;
  instance.id = InstanceId(model, gpu, *profile, *place);
  instance.profile_id = profile_id;
  instance.start = *place;
  instance.size = profile->size;
  return &gpu.instances.emplace_back(std::move(instance));
}

std::expected<ComputeInstance*, MigError> CreateComputeInstance(const Model& model, Gpu& gpu, unsigned gi_id,
                                                                unsigned ci_profile, std::optional<unsigned> start,
                                                                std::string uuid) {
  GpuInstance* instance = FindInstance(gpu, gi_id);
  if (instance == nullptr) return std::unexpected(MigError::kNotFound);
  if (ci_profile >= kCiProfiles) return std::unexpected(MigError::kInvalidProfile);
  const MigProfile* gi_profile = FindProfileById(model, instance->profile_id);
  if (gi_profile == nullptr) return std::unexpected(MigError::kInvalidProfile);
  const auto profiles = ComputeProfiles(model, *gi_profile);
  const auto profile = std::ranges::find(profiles, ci_profile, &CiProfile::profile);
  if (profile == profiles.end()) return std::unexpected(MigError::kNotSupported);
  if (start && std::ranges::find(profile->starts, *start) == profile->starts.end()) {
    return std::unexpected(MigError::kInvalidProfile);
  }
  const auto place = FreeComputeStart(*instance, *profile, start);
  if (!place) return std::unexpected(MigError::kNoRoom);

  ComputeInstance compute;
  compute.id = FreeComputeId(*instance);
  compute.profile = ci_profile;
  compute.start = *place;
  compute.size = profile->slices;
  compute.mig_index = FreeMigIndex(gpu);
  compute.uuid = std::move(uuid);
  return &instance->compute.emplace_back(std::move(compute));
}

std::expected<void, MigError> DestroyGpuInstance(Gpu& gpu, unsigned gi_id) {
  const GpuInstance* instance = FindInstance(gpu, gi_id);
  if (instance == nullptr) return std::unexpected(MigError::kNotFound);
  const bool runs = std::ranges::any_of(gpu.processes, [&](const Process& p) { return p.gpu_instance == gi_id; });
  if (!instance->compute.empty() || runs) return std::unexpected(MigError::kInUse);
  std::erase_if(gpu.instances, [&](const GpuInstance& other) { return other.id == gi_id; });
  return {};
}

std::expected<void, MigError> DestroyComputeInstance(Gpu& gpu, unsigned gi_id, unsigned ci_id) {
  GpuInstance* instance = FindInstance(gpu, gi_id);
  if (instance == nullptr) return std::unexpected(MigError::kNotFound);
  const auto found = std::ranges::find(instance->compute, ci_id, &ComputeInstance::id);
  if (found == instance->compute.end()) return std::unexpected(MigError::kNotFound);
  const bool runs = std::ranges::any_of(
      gpu.processes, [&](const Process& p) { return p.gpu_instance == gi_id && p.compute_instance == ci_id; });
  if (runs) return std::unexpected(MigError::kInUse);
  instance->compute.erase(found);
  return {};
}

unsigned RemainingCapacity(const Model& model, const Gpu& gpu, unsigned profile_id) {
  const MigProfile* profile = FindProfileById(model, profile_id);
  if (profile == nullptr) return 0;
  if (gpu.mig_mode == 0) return profile->instances;
  Gpu trial;  // Only the instances matter.
  trial.mig_mode = gpu.mig_mode;
  trial.instances = gpu.instances;
  unsigned made = 0;
  while (CreateGpuInstance(model, trial, profile_id)) ++made;
  return made;
}

std::vector<CiProfile> ComputeProfiles(const Model& model, const MigProfile& profile) {
  const MigProfile* smallest = FindProfileByNumber(model, 0);
  std::vector<CiProfile> profiles;
  for (const CiSize& size : kCiSizes) {
    const bool whole = size.slices == profile.slices;
    if (size.slices > profile.slices || (!whole && 2 * size.slices > profile.slices + 1)) continue;
    CiProfile cut;
    cut.profile = size.profile;
    cut.slices = size.slices;
    const unsigned share = smallest ? smallest->multiprocessors : profile.multiprocessors / profile.slices;
    cut.multiprocessors = whole ? profile.multiprocessors : share * size.slices;
    const unsigned step = size.slices == 3 ? 4 : size.slices;  // Three slices are aligned as four.
    for (unsigned start = 0; start + size.slices <= profile.slices; start += step) cut.starts.push_back(start);
    cut.instances = static_cast<unsigned>(cut.starts.size());
    profiles.push_back(std::move(cut));
  }
  return profiles;
}

std::string NextMigUuid(Machine& machine) {
  return "MIG-" + UuidFromSeed(Format("{}/mig/{}", machine.profile, machine.next_uuid++));
}

std::string UuidFromSeed(std::string_view seed) {
  const std::uint64_t high = Hash(seed, 0xCBF29CE484222325);
  const std::uint64_t low = Hash(seed, 0x84222325CBF29CE4);
  return Format("{:08x}-{:04x}-5{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF, high & 0xFFF,
                ((low >> 48) & 0x3FFF) | 0x8000, low & 0xFFFFFFFFFFFF);
}

}  // namespace tessera::sim
