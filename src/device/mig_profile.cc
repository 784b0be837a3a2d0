#include "device/mig_profile.h"

#include <cmath>

#include "base/text.h"

namespace tessera::device {
namespace {

// By NVML_GPU_INSTANCE_PROFILE_* number.
std::string_view Suffix(unsigned number) {
  switch (number) {
    case 7:  // 1_SLICE_REV1
    case 8:  // 2_SLICE_REV1
      return "+me";
    case 10:
    case 11:
    case 12:
    case 17:  // …_GFX
      return "+gfx";
    case 13:
    case 14:  // …_NO_ME
      return "-me";
    case 15:
    case 16:  // …_ALL_ME
      return "+me.all";
    default:
      return "";
  }
}

// NVML has no field for it: the fraction of the memory, rounded up to eighths, of the GiB, rounded up.
std::uint64_t Gigabytes(std::uint64_t memory_mb, std::uint64_t gpu_memory_bytes) {
  if (gpu_memory_bytes == 0) return (memory_mb + 1023) / 1024;
  const double fraction = static_cast<double>(memory_mb << 20U) / static_cast<double>(gpu_memory_bytes);
  const double total = static_cast<double>((gpu_memory_bytes + (1U << 30U) - 1) >> 30U);
  return static_cast<std::uint64_t>(std::round(std::ceil(fraction * 8) / 8 * total));
}

}  // namespace

std::string MigProfileName(const nvml::MigProfileFacts& profile, unsigned compute_slices,
                           std::uint64_t gpu_memory_bytes) {
  const std::string compute = compute_slices < profile.slices ? Format("{}c.", compute_slices) : std::string();
  return Format("{}{}g.{}gb{}", compute, profile.slices, Gigabytes(profile.memory_mb, gpu_memory_bytes),
                Suffix(profile.number));
}

std::string MigProfileLabel(std::string_view name) {
  std::string label;
  for (const char c : Lower(name)) {
    if (c == '.') continue;
    label += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
  }
  return label;
}

}  // namespace tessera::device
