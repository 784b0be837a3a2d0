#include "device/snapshot.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <tuple>

#include "base/semver.h"
#include "base/text.h"
#include "device/mig_profile.h"
#include "device/nvlink.h"
#include "nvml/abi.h"

namespace tessera::device {
namespace {

// The Go driver's spellings, because claims compare with them.
std::string BrandName(unsigned brand) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"Unknown", "Quadro", "Tesla", "NVS", "Grid", "GeForce", "Titan", "NvidiaVApps", "NvidiaVPC", "NvidiaVCS",
       "NvidiaVWS", "NvidiaCloudGaming", "QuadroRTX", "NvidiaRTX", "Nvidia", "GeForceRTX", "TitanRTX"});
  return std::string(brand < kNames.size() ? kNames[brand] : kNames[0]);
}

std::string ArchitectureName(unsigned architecture) {
  switch (architecture) {
    case nvml::abi::kArchKepler:
      return "Kepler";
    case nvml::abi::kArchMaxwell:
      return "Maxwell";
    case nvml::abi::kArchPascal:
      return "Pascal";
    case nvml::abi::kArchVolta:
      return "Volta";
    case nvml::abi::kArchTuring:
      return "Turing";
    case nvml::abi::kArchAmpere:
      return "Ampere";
    case nvml::abi::kArchAda:
      return "Ada Lovelace";
    case nvml::abi::kArchHopper:
      return "Hopper";
    case nvml::abi::kArchBlackwell:
      return "Blackwell";
    case nvml::abi::kArchRubin:
      return "Rubin";
    default:
      return "Unknown";
  }
}

std::string AddressingModeName(std::optional<unsigned> mode) {
  constexpr std::array<std::string_view, 3> kNames{"None", "HMM", "ATS"};
  return mode && *mode < kNames.size() ? std::string(kNames[*mode]) : std::string();
}

void FillNvLink(const nvml::GpuFacts& facts, const std::string& island, Gpu& gpu) {
  gpu.nvlink_island = island;
  unsigned version = 0;
  for (const nvml::NvLinkFacts& link : facts.links) {
    if (!link.active) continue;
    ++gpu.nvlink_count;
    version = std::max(version, link.version.value_or(0));
    if (link.remote_type) gpu.nvswitch = gpu.nvswitch.value_or(false) || *link.remote_type == nvml::abi::kRemoteSwitch;
  }
  gpu.nvlink_version = NvLinkVersion(version);
}

Gpu MakeGpu(const nvml::GpuFacts& facts, const std::string& island, const std::map<std::string, PciPlace>& places) {
  Gpu gpu;
  gpu.index = facts.index;
  gpu.minor = *facts.minor;
  gpu.uuid = facts.uuid;
  gpu.product_name = facts.name;
  if (facts.brand) gpu.brand = BrandName(*facts.brand);
  if (facts.architecture) gpu.architecture = ArchitectureName(*facts.architecture);
  gpu.serial = facts.serial;
  if (facts.cc_major && facts.cc_minor) gpu.compute_capability = Format("{}.{}.0", *facts.cc_major, *facts.cc_minor);
  gpu.memory_bytes = facts.memory_bytes;
  gpu.bus_id = LinuxBusId(facts.bus_id);
  if (const auto place = places.find(gpu.bus_id); place != places.end()) gpu.place = place->second;
  gpu.addressing_mode = AddressingModeName(facts.addressing_mode);
  gpu.ecc = facts.ecc;
  gpu.persistence = facts.persistence;
  gpu.pcie_generation = facts.pcie_generation;
  gpu.pcie_width = facts.pcie_width;
  gpu.module_id = facts.module_id;
  gpu.recovery_action = facts.recovery_action;
  gpu.mig_enabled = facts.mig_enabled;
  FillNvLink(facts, island, gpu);
  return gpu;
}

constexpr std::string_view kResetAdvice =
    "; check the kernel log for Xid messages, and reset the GPU if it stays (nvidia-smi --gpu-reset)";

std::string GapsText(const std::vector<nvml::Gap>& gaps) {
  if (gaps.empty()) return "the driver does not say";
  std::vector<std::string> parts;
  for (const nvml::Gap& gap : gaps) parts.push_back(Format("{}: {}", gap.function, gap.reason));
  constexpr std::size_t kEnough = 3;
  if (parts.size() > kEnough) {
    const std::size_t more = parts.size() - kEnough;
    parts.resize(kEnough);
    parts.push_back(Format("and {} more", more));
  }
  return Join(parts, "; ");
}

std::vector<nvml::Gap> MigGaps(const std::vector<nvml::Gap>& gaps) {
  std::vector<nvml::Gap> found;
  std::ranges::copy_if(gaps, std::back_inserter(found), [](const nvml::Gap& gap) {
    return gap.function.find("Mig") != std::string::npos || gap.function.find("Instance") != std::string::npos;
  });
  return found;
}

// A GPU that cannot be offered, or nothing.
std::optional<Withheld> WhyWithheld(const nvml::GpuFacts& facts) {
  const std::string name = facts.minor ? Format("gpu-{}", *facts.minor) : Format("GPU at index {}", facts.index);
  const Withheld base{name, facts.uuid, facts.name, {}, {}};
  const auto because = [&base](std::string code, std::string reason) {
    Withheld withheld = base;
    withheld.code = std::move(code);
    withheld.reason = std::move(reason);
    return withheld;
  };
  if (facts.uuid.empty() || !facts.minor) {
    return because("GpuUnreadable", Format("its {} cannot be read: {}{}", facts.uuid.empty() ? "UUID" : "minor number",
                                           GapsText(facts.gaps), kResetAdvice));
  }
  if (facts.name == "DGX Display" || facts.name == "NVIDIA DGX Display") {
    return because("DisplayOnly", "it drives the display of a DGX Station and is not for compute");
  }
  // A GPU in MIG mode offered whole would be a wrong device in a pod, so not knowing is not enough.
  const std::vector<nvml::Gap> mig_gaps = MigGaps(facts.gaps);
  if (!facts.mig_enabled && !mig_gaps.empty()) {
    return because("MigUnreadable", Format("its MIG mode cannot be read: {}{}", GapsText(mig_gaps), kResetAdvice));
  }
  if (facts.mig_enabled == true && facts.mig_devices.empty()) {
    if (!mig_gaps.empty()) {
      return because("MigUnreadable", Format("its MIG devices cannot be read: {}{}", GapsText(mig_gaps), kResetAdvice));
    }
    return because("MigWithoutDevices",
                   "MIG mode is on and it has no MIG devices; create some (nvidia-smi mig -cgi … "
                   "-C) or turn MIG mode off (nvidia-smi -mig 0)");
  }
  return std::nullopt;
}

const nvml::MigProfileFacts* FindProfile(const nvml::GpuFacts& gpu, std::optional<unsigned> id) {
  const auto found = std::ranges::find_if(gpu.mig_profiles, [id](const auto& p) { return p.id == id; });
  return found == gpu.mig_profiles.end() ? nullptr : &*found;
}

Mig MakeMig(const nvml::MigFacts& facts, const nvml::MigProfileFacts& profile, std::uint64_t gpu_memory) {
  Mig mig;
  mig.uuid = facts.uuid;
  mig.profile = MigProfileName(profile, *facts.compute_slices, gpu_memory);
  mig.gpu_instance = *facts.gpu_instance;
  mig.compute_instance = *facts.compute_instance;
  mig.profile_id = profile.id;
  mig.placement_start = facts.placement_start;
  mig.placement_size = facts.placement_size;
  mig.memory_bytes = profile.memory_mb << 20U;
  const bool whole = *facts.compute_slices == profile.slices;
  mig.multiprocessors = whole ? profile.multiprocessors : facts.multiprocessors.value_or(profile.multiprocessors);
  mig.copy_engines = profile.copy_engines;
  mig.decoders = profile.decoders;
  mig.encoders = profile.encoders;
  mig.jpegs = profile.jpegs;
  mig.ofas = profile.ofas;
  return mig;
}

// As the Go driver names them. Compute instances that share a GPU instance also carry their own number.
std::string MigName(const Gpu& gpu, const Mig& mig) {
  std::string name =
      Format("gpu-{}-mig-{}-{}-{}", gpu.minor, MigProfileLabel(mig.profile), mig.profile_id, mig.placement_start);
  if (mig.profile.find("c.") != std::string::npos) name += Format("-{}", mig.compute_instance);
  return name;
}

void AddMigDevices(const nvml::GpuFacts& facts, const Gpu& gpu, Snapshot& snapshot) {
  for (const nvml::MigFacts& mig : facts.mig_devices) {
    const nvml::MigProfileFacts* profile = FindProfile(facts, mig.profile_id);
    // Not knowing how much of its GPU instance it has would offer a part as the whole.
    const bool sized = profile != nullptr && mig.compute_slices && *mig.compute_slices <= profile->slices;
    if (mig.uuid.empty() || !mig.gpu_instance || !mig.compute_instance || !sized) {
      auto gaps = mig.gaps;
      gaps.insert(gaps.end(), facts.gaps.begin(), facts.gaps.end());
      snapshot.withheld.push_back({Format("gpu-{} MIG {}", gpu.minor, mig.index), mig.uuid, gpu.product_name,
                                   "MigUnreadable", Format("it cannot be read: {}{}", GapsText(gaps), kResetAdvice)});
      continue;
    }
    Device device{{}, gpu, MakeMig(mig, *profile, gpu.memory_bytes.value_or(0)), facts.gaps};
    device.name = MigName(gpu, *device.mig);
    device.gaps.insert(device.gaps.end(), mig.gaps.begin(), mig.gaps.end());
    snapshot.devices.push_back(std::move(device));
  }
}

// What the order of publication compares: see MakeSnapshot().
auto PackingOrder(const Device& device) {
  const Gpu& gpu = device.gpu;
  static const Mig kNone;
  const Mig& mig = device.mig ? *device.mig : kNone;
  const std::uint64_t memory = device.mig ? mig.memory_bytes : gpu.memory_bytes.value_or(0);
  const bool special = mig.profile.find('+') != std::string::npos;  // 1g.5gb+me: there is but one on a GPU.
  return std::tuple(memory, mig.multiprocessors, special, std::string_view(gpu.nvlink_island),
                    gpu.place.numa_node.value_or(-1), gpu.minor, mig.placement_start, mig.compute_instance);
}

// Two devices of one name or UUID would make the whole pool invalid to the scheduler: the later one is withheld.
void WithholdDuplicates(Snapshot& snapshot) {
  std::set<std::string> names;
  std::set<std::string> uuids;
  std::erase_if(snapshot.devices, [&](const Device& device) {
    const std::string& uuid = device.mig ? device.mig->uuid : device.gpu.uuid;
    if (names.insert(device.name).second && uuids.insert(uuid).second) return false;
    snapshot.withheld.push_back({device.name + " (a second one)", uuid, device.gpu.product_name, "DuplicateIdentity",
                                 "the driver gives its minor or UUID to two devices; reload the driver"});
    return true;
  });
}

}  // namespace

Snapshot MakeSnapshot(const nvml::MachineFacts& facts, const std::map<std::string, PciPlace>& places) {
  Snapshot snapshot;
  snapshot.driver_version = facts.driver_version;
  snapshot.gaps = facts.gaps;
  if (const auto version = Semver::Coerce(facts.driver_version)) snapshot.driver_semver = version->ToString();
  if (facts.cuda_version) {
    snapshot.cuda_driver_version = Format("{}.{}.0", *facts.cuda_version / 1000, *facts.cuda_version % 1000 / 10);
  }
  const std::vector<std::string> islands = NvLinkIslands(facts.gpus);
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    if (auto withheld = WhyWithheld(facts.gpus[i])) {
      snapshot.withheld.push_back(std::move(*withheld));
      continue;
    }
    const Gpu gpu = MakeGpu(facts.gpus[i], islands[i], places);
    if (gpu.mig_enabled == true) {
      AddMigDevices(facts.gpus[i], gpu, snapshot);
    } else {
      snapshot.devices.push_back({Format("gpu-{}", gpu.minor), gpu, std::nullopt, facts.gpus[i].gaps});
    }
  }
  WithholdDuplicates(snapshot);
  std::ranges::stable_sort(snapshot.devices,
                           [](const Device& a, const Device& b) { return PackingOrder(a) < PackingOrder(b); });
  return snapshot;
}

}  // namespace tessera::device
