// Taking a GPU out of a running machine and finding it again. These functions name it by PCI address, because a GPU
// that is out has no handle.
#include <algorithm>

#include "sim/library/library.h"
#include "sim/library/pci.h"

namespace tessera::sim::library {
namespace {

Locator ByPci(const PciInfo* info, bool present) {
  return [info, present](const Machine& machine) -> Outcome<Subject> {
    if (info == nullptr) return Fail(kInvalidArgument);
    const PciAddress wanted{.domain = info->domain, .bus = info->bus, .device = info->device};
    const auto gpu = std::ranges::find_if(machine.gpus, [&](const Gpu& candidate) {
      return candidate.present == present && ParsePciAddress(candidate.bus_id) == wanted;
    });
    if (gpu == machine.gpus.end()) return Fail(kNotFound);
    return Subject{.gpu = &*gpu};
  };
}

// A GPU goes when nobody holds it: the driver keeps one in persistence mode open itself.
Return Remove(std::string_view function, const PciInfo* info) {
  return Change(function, ByPci(info, true), [](Target& t) {
    if (t.gpu.persistence || !t.gpu.processes.empty()) return kInUse;
    t.gpu.present = false;
    return kSuccess;
  });
}

}  // namespace

NVML(nvmlDeviceModifyDrainState, PciInfo* info, unsigned state) {
  return Change(__func__, ByPci(info, true), [&](Target& t) {
    if (state > 1) return kInvalidArgument;
    if (t.gpu.persistence) return kInUse;
    t.gpu.draining = state == 1;
    return kSuccess;
  });
}

NVML(nvmlDeviceQueryDrainState, PciInfo* info, unsigned* state) {
  return Answer(__func__, ByPci(info, true), state, [](const View& v) { return v.gpu.draining ? 1U : 0U; });
}

NVML(nvmlDeviceRemoveGpu_v2, PciInfo* info, unsigned, unsigned) { return Remove(__func__, info); }
NVML(nvmlDeviceRemoveGpu, PciInfo* info) { return Remove(__func__, info); }

NVML(nvmlDeviceDiscoverGpus, PciInfo* info) {
  return Change(__func__, ByPci(info, false), [](Target& t) {
    t.gpu.present = true;
    t.gpu.draining = false;
    return kSuccess;
  });
}

}  // namespace tessera::sim::library
