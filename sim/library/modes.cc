// Settings of a device (persistence, compute mode, ECC) and where it stands in the machine (affinity, addressing).
#include <algorithm>

#include "sim/library/library.h"
#include "sim/library/topology.h"

namespace tessera::sim::library {
namespace {

constexpr unsigned kModeExclusiveThread = 1, kModeLast = 3;
constexpr unsigned kBitsPerWord = 64;

// `numbers` as a bit set of `words` words.
Return FillBits(const std::vector<unsigned>& numbers, unsigned words, unsigned long* bits) {
  if (std::ranges::any_of(numbers, [&](unsigned n) { return n / kBitsPerWord >= words; })) return kInsufficientSize;
  std::fill_n(bits, words, 0UL);
  for (const unsigned n : numbers) bits[n / kBitsPerWord] |= 1UL << n % kBitsPerWord;
  return kSuccess;
}

// A bit set of the caller's size.
struct Bits {
  unsigned long* words;
  unsigned count;
  Return Check() const { return words == nullptr || count == 0 ? kInvalidArgument : kSuccess; }
  void Spoil() const { SpoilBytes(words, sizeof(*words) * count); }
  Return Write(const std::vector<unsigned>& numbers) const { return FillBits(numbers, count, words); }
};

// A node is all we know of a socket.
Outcome<std::vector<unsigned>> Cpus(const View& v, unsigned scope) {
  if (scope > 1) return Fail(kInvalidArgument);
  auto cpus = NearCpus(v.machine, v.gpu);
  if (cpus.empty()) return Fail(kNotSupported);
  return cpus;
}

}  // namespace

NVML(nvmlDeviceGetPersistenceMode, Device device, unsigned* mode) {
  return Answer(__func__, device, mode, [](const View& v) { return v.gpu.persistence ? 1U : 0U; });
}
NVML(nvmlDeviceSetPersistenceMode, Device device, unsigned mode) {
  return Change(__func__, device, [&](Target& t) {
    if (mode > 1) return kInvalidArgument;
    t.gpu.persistence = mode == 1;
    return kSuccess;
  });
}

NVML(nvmlDeviceGetComputeMode, Device device, unsigned* mode) {
  return Answer(__func__, device, mode, [](const View& v) { return v.gpu.compute_mode; });
}
// With MIG on only MIG devices have one; the simulator keeps a single mode for all of a GPU's.
NVML(nvmlDeviceSetComputeMode, Device device, unsigned mode) {
  return Change(__func__, device, [&](Target& t) {
    if (mode > kModeLast) return kInvalidArgument;
    if (mode == kModeExclusiveThread || (t.gpu.mig_mode == 1 && !t.is_mig())) return kNotSupported;
    t.gpu.compute_mode = mode;
    return kSuccess;
  });
}

NVML(nvmlDeviceGetEccMode, Device device, unsigned* current, unsigned* pending) {
  return Answer(__func__, device, All(current, pending), [](const View& v) -> Outcome<std::tuple<unsigned, unsigned>> {
    if (!v.model.ecc) return Fail(kNotSupported);
    return std::tuple(1U, v.gpu.ecc_pending ? 1U : 0U);
  });
}
NVML(nvmlDeviceGetDefaultEccMode, Device device, unsigned* mode) {
  return Answer(__func__, device, mode, [](const View& v) -> Outcome<unsigned> {
    if (!v.model.ecc) return Fail(kNotSupported);
    return 1U;
  });
}
NVML(nvmlDeviceSetEccMode, Device device, unsigned mode) {
  return Change(__func__, device, [&](Target& t) {
    if (mode > 1) return kInvalidArgument;
    if (!t.model.ecc) return kNotSupported;
    t.gpu.ecc_pending = mode == 1;
    return kSuccess;
  });
}

// A machine of its own, neither guest nor vGPU host.
NVML(nvmlDeviceGetVirtualizationMode, Device device, unsigned* mode) {
  return Answer(__func__, device, mode, [](const View&) { return 0U; });
}

NVML(nvmlDeviceGetCapabilities, Device device, DeviceCapabilities* capabilities) {
  return Answer(__func__, device, Versioned{capabilities, 1}, [](const View&) { return DeviceCapabilities{}; });
}

NVML(nvmlDeviceGetAddressingMode, Device device, AddressingMode* mode) {
  return Answer(__func__, device, Versioned{mode, 1}, [](const View& v) -> Outcome<AddressingMode> {
    if (!v.model.addressing_mode) return Fail(kNotSupported);
    return AddressingMode{.version = 0, .value = *v.model.addressing_mode};
  });
}

NVML(nvmlDeviceGetC2cModeInfoV, Device device, C2cModeInfo* info) {
  return Answer(__func__, device, info, [](const View& v) -> Outcome<C2cModeInfo> {
    if (v.model.architecture < kArchHopper) return Fail(kNotSupported);
    return C2cModeInfo{.isC2cEnabled = v.model.c2c ? 1U : 0U};
  });
}

// Only where the GPU's own memory is a NUMA node of the machine; on GB200 trays these are numbered 2, 10, 18, 26.
NVML(nvmlDeviceGetNumaNodeId, Device device, unsigned* node) {
  return Answer(__func__, device, node, [](const View& v) -> Outcome<unsigned> {
    if (!v.model.c2c) return Fail(kNotSupported);
    return 2 + 8 * v.gpu.minor;
  });
}

NVML(nvmlDeviceGetCpuAffinity, Device device, unsigned words, unsigned long* set) {
  return Answer(__func__, device, Bits{set, words}, [](const View& v) { return Cpus(v, 0); });
}
NVML(nvmlDeviceGetCpuAffinityWithinScope, Device device, unsigned words, unsigned long* set, unsigned scope) {
  return Answer(__func__, device, Bits{set, words}, [&](const View& v) { return Cpus(v, scope); });
}
NVML(nvmlDeviceGetMemoryAffinity, Device device, unsigned words, unsigned long* set, unsigned scope) {
  return Answer(__func__, device, Bits{set, words}, [&](const View& v) -> Outcome<std::vector<unsigned>> {
    if (scope > 1) return Fail(kInvalidArgument);
    auto nodes = NearNodes(v.machine, v.gpu);
    if (nodes.empty()) return Fail(kNotSupported);
    return nodes;
  });
}

}  // namespace tessera::sim::library
