#include "nvml/vet.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "nvml/api.h"

namespace tessera::nvml {
namespace {

constexpr unsigned kMostPcieGeneration = 16;
constexpr unsigned kMostPcieWidth = 64;

bool IsHex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
bool IsUuid(std::string_view text) {
  const auto parts = Split(text, '-');
  constexpr std::array<std::size_t, 5> kLengths{8, 4, 4, 4, 12};
  if (parts.size() != kLengths.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].size() != kLengths[i] || !IsHex(parts[i])) return false;
  }
  return true;
}

// One line of printable ASCII, as every name and number of NVML is.
bool IsPrintable(std::string_view text) {
  return text.size() < 128 && std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

// Checks the fields of one GPU, MIG device or machine; what is dropped is noted in `gaps`.
class Vetter {
 public:
  explicit Vetter(std::vector<Gap>& gaps) : gaps_(gaps) {}

  void Text(std::string& text, bool (*valid)(std::string_view), Fn fn) {
    if (text.empty() || valid(text)) return;
    text.clear();
    Note(fn);
  }
  template <class T>
  void AtMost(std::optional<T>& number, T most, Fn fn) {
    if (!number || *number <= most) return;
    number.reset();
    Note(fn);
  }
  void Check(bool plausible, Fn fn, const auto& drop) {
    if (plausible) return;
    drop();
    Note(fn);
  }

 private:
  void Note(Fn fn) {
    const Gap gap{std::string(Name(fn)), "answered with garbage"};
    if (std::ranges::find(gaps_, gap) == gaps_.end()) gaps_.push_back(gap);  // One of 18 links is enough.
  }

  std::vector<Gap>& gaps_;
};

void VetGaps(std::vector<Gap>& gaps) {
  for (Gap& gap : gaps) {
    if (!IsPrintable(gap.function)) gap.function = "(unprintable)";
    std::ranges::replace_if(gap.reason, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  }
}

void VetMig(MigFacts& mig) {
  VetGaps(mig.gaps);
  Vetter vet(mig.gaps);
  vet.Text(mig.uuid, IsMigUuid, Fn::nvmlDeviceGetUUID);
  // At most 15 GPU instances with 8 compute instances each exist on any GPU (nvidia-caps/mig-minors).
  vet.AtMost(mig.gpu_instance, 63U, Fn::nvmlDeviceGetGpuInstanceId);
  vet.AtMost(mig.compute_instance, 63U, Fn::nvmlDeviceGetComputeInstanceId);
  const bool shared = mig.compute_slices && (*mig.compute_slices == 0 || *mig.compute_slices > kMostSlices);
  vet.Check(!shared && mig.multiprocessors.value_or(0) < 10'000, Fn::nvmlDeviceGetAttributes_v2, [&] {
    mig.compute_slices.reset();
    mig.multiprocessors.reset();
  });
  vet.Check(!mig.profile_id ||
                (mig.placement_start < kMostSlices && mig.placement_size > 0 && mig.placement_size <= kMostSlices),
            Fn::nvmlGpuInstanceGetInfo, [&] { mig.profile_id.reset(); });
}

bool IsPlausible(const MigProfileFacts& profile) {
  constexpr std::uint64_t kMostMb = std::uint64_t{1} << 28;  // 256 TiB.
  return profile.slices > 0 && profile.slices <= kMostSlices && profile.memory_mb < kMostMb &&
         profile.multiprocessors < 10'000 &&
         std::max({profile.copy_engines, profile.decoders, profile.encoders, profile.jpegs, profile.ofas}) < 1'000;
}

void VetFabric(std::optional<FabricFacts>& fabric, Vetter& vet) {
  if (!fabric) return;
  vet.Check(IsUuid(fabric->cluster_uuid) && fabric->state <= 3, Fn::nvmlDeviceGetGpuFabricInfoV,
            [&] { fabric.reset(); });
}

void VetLinks(GpuFacts& gpu, Vetter& vet) {
  if (gpu.links.size() > kMostLinks) gpu.links.resize(kMostLinks);
  for (NvLinkFacts& link : gpu.links) vet.Text(link.remote_bus_id, IsBusId, Fn::nvmlDeviceGetNvLinkRemotePciInfo_v2);
  VetFabric(gpu.fabric, vet);
}

void VetGpu(GpuFacts& gpu) {
  VetGaps(gpu.gaps);
  Vetter vet(gpu.gaps);
  vet.Text(gpu.uuid, IsGpuUuid, Fn::nvmlDeviceGetUUID);
  vet.AtMost(gpu.minor, 0xFFFFFU, Fn::nvmlDeviceGetMinorNumber);  // The 20 bits of a Linux minor.
  vet.Text(gpu.name, IsPrintable, Fn::nvmlDeviceGetName);
  vet.Text(gpu.serial, IsPrintable, Fn::nvmlDeviceGetSerial);
  vet.Text(gpu.bus_id, IsBusId, Fn::nvmlDeviceGetPciInfo_v3);
  vet.Check(gpu.cc_major.value_or(1) - 1 < 99 && gpu.cc_minor.value_or(0) < 100, Fn::nvmlDeviceGetCudaComputeCapability,
            [&] { gpu.cc_major.reset(); });
  vet.AtMost(gpu.memory_bytes, std::uint64_t{1} << 48, Fn::nvmlDeviceGetMemoryInfo);  // The width of its address bus.
  vet.AtMost(gpu.module_id, 0xFFFFU, Fn::nvmlDeviceGetModuleId);
  vet.AtMost(gpu.pcie_generation, kMostPcieGeneration, Fn::nvmlDeviceGetMaxPcieLinkGeneration);
  vet.AtMost(gpu.pcie_width, kMostPcieWidth, Fn::nvmlDeviceGetMaxPcieLinkWidth);
  VetLinks(gpu, vet);
  for (std::size_t i = gpu.mig_profiles.size(); i-- > 0;) {
    vet.Check(IsPlausible(gpu.mig_profiles[i]), Fn::nvmlDeviceGetGpuInstanceProfileInfo,
              [&] { gpu.mig_profiles.erase(gpu.mig_profiles.begin() + static_cast<std::ptrdiff_t>(i)); });
  }
  if (gpu.mig_devices.size() > kMostMigDevices) gpu.mig_devices.resize(kMostMigDevices);
  for (MigFacts& mig : gpu.mig_devices) VetMig(mig);
}

void VetRepairs(GpuVitals& gpu, Vetter& vet) {
  constexpr unsigned kMostRows = 1'000'000;
  const bool rows = gpu.remapped_corrected.value_or(0) < kMostRows && gpu.remapped_uncorrected.value_or(0) < kMostRows;
  vet.Check(rows, Fn::nvmlDeviceGetRemappedRows, [&] {
    gpu.remapped_corrected.reset();
    gpu.remapped_uncorrected.reset();
  });
  const bool pages = gpu.retired_corrected.value_or(0) < kMostRows && gpu.retired_uncorrected.value_or(0) < kMostRows;
  vet.Check(pages, Fn::nvmlDeviceGetRetiredPages, [&] {
    gpu.retired_corrected.reset();
    gpu.retired_uncorrected.reset();
  });
}

void VetCounters(GpuVitals& gpu, Vetter& vet) {
  constexpr std::uint64_t kMostErrors = std::uint64_t{1} << 56;  // A garbled number sets the highest bits.
  for (auto* count :
       {&gpu.ecc_corrected, &gpu.ecc_uncorrected, &gpu.ecc_corrected_lifetime, &gpu.ecc_uncorrected_lifetime}) {
    vet.AtMost(*count, kMostErrors, Fn::nvmlDeviceGetTotalEccErrors);
  }
  for (LinkVitals& link : gpu.links) {
    for (auto* count : {&link.replay_errors, &link.recovery_errors, &link.crc_errors}) {
      vet.AtMost(*count, kMostErrors, Fn::nvmlDeviceGetNvLinkErrorCounter);
    }
  }
}

}  // namespace

void Vet(GpuVitals& gpu) {
  VetGaps(gpu.gaps);
  Vetter vet(gpu.gaps);
  VetRepairs(gpu, vet);
  VetCounters(gpu, vet);
  vet.AtMost(gpu.temperature, 250U, Fn::nvmlDeviceGetTemperature);
  vet.AtMost(gpu.slowdown_reasons, std::uint64_t{0xFFFF'FFFF}, Fn::nvmlDeviceGetCurrentClocksEventReasons);
  vet.AtMost(gpu.pcie_generation, kMostPcieGeneration, Fn::nvmlDeviceGetCurrPcieLinkGeneration);
  vet.AtMost(gpu.pcie_width, kMostPcieWidth, Fn::nvmlDeviceGetCurrPcieLinkWidth);
  vet.AtMost(gpu.pcie_generation_max, kMostPcieGeneration, Fn::nvmlDeviceGetMaxPcieLinkGeneration);
  vet.AtMost(gpu.pcie_width_max, kMostPcieWidth, Fn::nvmlDeviceGetMaxPcieLinkWidth);
  vet.AtMost(gpu.recovery_action, 255U, Fn::nvmlDeviceGetFieldValues);
  VetFabric(gpu.fabric, vet);
}

bool IsGpuUuid(std::string_view text) { return text.starts_with("GPU-") && IsUuid(text.substr(4)); }

bool IsMigUuid(std::string_view text) {
  if (!text.starts_with("MIG-")) return false;
  text.remove_prefix(4);
  if (IsUuid(text)) return true;
  const auto parts = Split(text, '/');
  return parts.size() == 3 && IsGpuUuid(parts[0]) && ParseNumber<unsigned>(parts[1]) && ParseNumber<unsigned>(parts[2]);
}

bool IsBusId(std::string_view text) {
  const auto parts = Split(text, ':');
  if (parts.size() != 3 || parts[0].size() < 4 || parts[0].size() > 8 || parts[1].size() != 2) return false;
  return ParseNumber<unsigned>(parts[0], 16) && ParseNumber<unsigned>(parts[1], 16) && parts[2].size() == 4 &&
         parts[2][2] == '.' && ParseNumber<unsigned>(parts[2].substr(0, 2), 16) &&
         ParseNumber<unsigned>(parts[2].substr(3), 16);
}

void Vet(MachineFacts& machine) {
  VetGaps(machine.gaps);
  Vetter vet(machine.gaps);
  vet.Text(machine.driver_version, IsPrintable, Fn::nvmlSystemGetDriverVersion);
  vet.AtMost(machine.cuda_version, 1'000'000U, Fn::nvmlSystemGetCudaDriverVersion);
  if (machine.gpus.size() > kMostGpus) machine.gpus.resize(kMostGpus);
  for (GpuFacts& gpu : machine.gpus) VetGpu(gpu);
}

}  // namespace tessera::nvml
