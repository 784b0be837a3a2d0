// What a device is: names, numbers, PCI identity, memory.
#include <algorithm>

#include "base/fnv.h"
#include "base/text.h"
#include "sim/library/library.h"
#include "sim/library/mig.h"
#include "sim/library/pci.h"

namespace tessera::sim::library {
namespace {

// How much each observer sees in use. A MIG device has its own memory and no reservation of the board's.
MemoryV2 MemoryOf(const View& v) {
  MemoryV2 memory{};
  if (v.is_mig()) {
    const MigProfile* profile = FindProfileById(v.model, v.instance->profile_id);
    memory.total = profile == nullptr ? 0 : profile->memory_mb << 20U;
    for (const Process& process : v.gpu.processes) {
      if (process.gpu_instance == v.instance->id) memory.used += process.memory;
    }
  } else {
    memory.total = v.model.memory_bytes;
    memory.reserved = v.model.reserved_bytes;
    memory.used = v.gpu.memory_used;
  }
  memory.used = std::min(memory.used, memory.total - memory.reserved);
  memory.free = memory.total - memory.reserved - memory.used;
  return memory;
}

std::string DeviceName(const View& v) {
  if (v.gpu.display) return "NVIDIA DGX Display";  // What a DGX Station's own adapter calls itself.
  return v.is_mig() ? Format("{} {}", v.model.name, MigName(v)) : v.model.name;
}

// Some number that is the device's own and always the same.
std::uint64_t PdiOf(const Gpu& gpu) { return Fnv1a(gpu.uuid); }

Outcome<std::string> OrUnsupported(const std::string& text) {
  if (text.empty()) return Fail(kNotSupported);
  return text;
}

Outcome<unsigned> OrUnsupported(unsigned number) {
  if (number == 0) return Fail(kNotSupported);
  return number;
}

}  // namespace

NVML(nvmlDeviceGetName, Device device, char* name, unsigned length) {
  return Answer(__func__, device, Text{name, length}, DeviceName);
}

NVML(nvmlDeviceGetUUID, Device device, char* uuid, unsigned length) {
  return Answer(__func__, device, Text{uuid, length},
                [](const View& v) { return v.is_mig() ? v.compute->uuid : v.gpu.uuid; });
}

NVML(nvmlDeviceGetSerial, Device device, char* serial, unsigned length) {
  return Answer(__func__, device, Text{serial, length},
                [](const View& v) { return OrUnsupported(v.model.serial ? v.gpu.serial : ""); });
}

NVML(nvmlDeviceGetBoardPartNumber, Device device, char* number, unsigned length) {
  return Answer(__func__, device, Text{number, length},
                [](const View& v) { return OrUnsupported(v.model.part_number); });
}

NVML(nvmlDeviceGetVbiosVersion, Device device, char* version, unsigned length) {
  return Answer(__func__, device, Text{version, length}, [](const View& v) { return OrUnsupported(v.model.vbios); });
}

NVML(nvmlDeviceGetGspFirmwareVersion, Device device, char* version) {
  return Answer(__func__, device, Text{version, kGspVersionSize},
                [](const View& v) { return OrUnsupported(v.model.gsp ? v.machine.driver_version : ""); });
}

NVML(nvmlDeviceGetGspFirmwareMode, Device device, unsigned* enabled, unsigned* by_default) {
  return Answer(__func__, device, All(enabled, by_default), [](const View& v) {
    const unsigned gsp = v.model.gsp ? 1 : 0;
    return std::tuple(gsp, gsp);
  });
}

NVML(nvmlDeviceGetBrand, Device device, unsigned* brand) {
  return Answer(__func__, device, brand, [](const View& v) { return v.model.brand; });
}

NVML(nvmlDeviceGetArchitecture, Device device, unsigned* architecture) {
  return Answer(__func__, device, architecture, [](const View& v) { return v.model.architecture; });
}

NVML(nvmlDeviceGetCudaComputeCapability, Device device, int* major, int* minor) {
  return Answer(__func__, device, All(major, minor), [](const View& v) {
    return std::tuple(static_cast<int>(v.model.cc_major), static_cast<int>(v.model.cc_minor));
  });
}

NVML(nvmlDeviceGetMinorNumber, Device device, unsigned* minor) {
  return Answer(__func__, device, minor, [](const View& v) { return v.gpu.minor; });
}

NVML(nvmlDeviceGetModuleId, Device device, unsigned* module_id) {
  return Answer(__func__, device, module_id, [](const View& v) { return v.gpu.module_id; });
}

NVML(nvmlDeviceGetBoardId, Device device, unsigned* board_id) {
  return Answer(__func__, device, board_id, [](const View& v) { return BoardId(v.gpu); });
}

// Every simulated board carries one GPU.
NVML(nvmlDeviceGetMultiGpuBoard, Device device, unsigned* multi) {
  return Answer(__func__, device, multi, [](const View&) { return 0U; });
}

NVML(nvmlDeviceOnSameBoard, Device one, Device other, int* same) {
  return Answer(__func__, one, same, [&](const View& v) -> Outcome<int> {
    const auto peer = Peer(v, other);
    if (!peer.has_value()) return Fail(peer.error());
    return *peer == &v.gpu ? 1 : 0;
  });
}

NVML(nvmlDeviceGetNumGpuCores, Device device, unsigned* cores) {
  return Answer(__func__, device, cores, [](const View& v) { return OrUnsupported(v.model.cores); });
}

NVML(nvmlDeviceGetMemoryBusWidth, Device device, unsigned* width) {
  return Answer(__func__, device, width, [](const View& v) { return OrUnsupported(v.model.memory_bus_width); });
}

NVML(nvmlDeviceGetBusType, Device device, unsigned* type) {
  return Answer(__func__, device, type, [](const View&) { return 2U; });  // PCIe
}

NVML(nvmlDeviceGetPdi, Device device, Pdi* pdi) {
  return Answer(__func__, device, Versioned{pdi, 1},
                [](const View& v) { return Pdi{.version = 0, .value = PdiOf(v.gpu)}; });
}

// The real one looks at no version, answers as version 2 and says so.
NVML(nvmlDeviceGetPlatformInfo, Device device, PlatformInfo* info) {
  return Answer(__func__, device, info, [](const View& v) -> Outcome<PlatformInfo> {
    if (v.model.architecture < kArchHopper) return Fail(kNotSupported);
    PlatformInfo answer{};
    answer.version = VersionOf<PlatformInfo>(2);
    answer.moduleId = static_cast<unsigned char>(v.gpu.module_id);
    return answer;
  });
}

// ---- PCI. The two old symbols belong to times when the struct ended earlier.

NVML(nvmlDeviceGetPciInfo_v3, Device device, PciInfo* info) {
  return Answer(__func__, device, info, [](const View& v) { return PciInfoOf(v.gpu, v.model); });
}
NVML(nvmlDeviceGetPciInfo_v2, Device device, PciInfo* info) {
  return Answer(__func__, device, Prefix{info, offsetof(PciInfo, busId)},
                [](const View& v) { return PciInfoOf(v.gpu, v.model); });
}
NVML(nvmlDeviceGetPciInfo, Device device, PciInfo* info) {
  return Answer(__func__, device, Prefix{info, offsetof(PciInfo, pciSubSystemId)},
                [](const View& v) { return PciInfoOf(v.gpu, v.model); });
}

NVML(nvmlDeviceGetPciInfoExt, Device device, PciInfoExt* info) {
  return Answer(__func__, device, Versioned{info, 1}, [](const View& v) {
    const PciInfo plain = PciInfoOf(v.gpu, v.model);
    PciInfoExt answer{};
    answer.domain = plain.domain;
    answer.bus = plain.bus;
    answer.device = plain.device;
    answer.pciDeviceId = plain.pciDeviceId;
    answer.pciSubSystemId = plain.pciSubSystemId;
    answer.baseClass = v.model.pci_class >> 16U;
    answer.subClass = v.model.pci_class >> 8U & 0xFFU;
    SetText(answer.busId, plain.busId);
    return answer;
  });
}

// ---- Memory.

NVML(nvmlDeviceGetMemoryInfo, Device device, Memory* memory) {
  return Answer(__func__, device, memory, [](const View& v) {
    const MemoryV2 all = MemoryOf(v);
    return Memory{.total = all.total, .free = all.free, .used = all.used + all.reserved};
  });
}

NVML(nvmlDeviceGetMemoryInfo_v2, Device device, MemoryV2* memory) {
  return Answer(__func__, device, Versioned<MemoryV2>{memory, 2, kFunctionNotFound}, MemoryOf);
}

NVML(nvmlDeviceGetBAR1MemoryInfo, Device device, Bar1Memory* memory) {
  return Answer(__func__, device, memory, [](const View& v) -> Outcome<Bar1Memory> {
    if (v.model.bar1_bytes == 0) return Fail(kNotSupported);
    return Bar1Memory{.bar1Total = v.model.bar1_bytes, .bar1Free = v.model.bar1_bytes, .bar1Used = 0};
  });
}

}  // namespace tessera::sim::library
