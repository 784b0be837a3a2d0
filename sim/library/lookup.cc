// From an index, a UUID, a bus id or a serial number to a handle.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "sim/library/library.h"
#include "sim/library/pci.h"

namespace tessera::sim::library {
namespace {

// A look-up answers with the handle of what it found. The finding happens in the frame, so that a fault or a loss of
// that very GPU takes effect.
Return LookUp(std::string_view function, Device* out, const Locator& find) {
  return Answer(function, find, out,
                [](const View& v) { return v.is_mig() ? HandleOf(v.gpu, *v.instance, *v.compute) : HandleOf(v.gpu); });
}

// The first visible GPU that satisfies `wanted`.
template <class Predicate>
Outcome<Subject> FindGpu(const Machine& machine, const Predicate& wanted) {
  for (const Gpu* gpu : VisibleGpus(machine)) {
    if (wanted(*gpu)) return Subject{.gpu = gpu};
  }
  return Fail(kNotFound);
}

Locator ByIndex(unsigned index) {
  return [index](const Machine& machine) -> Outcome<Subject> {
    const auto gpus = VisibleGpus(machine);
    if (index >= gpus.size()) return Fail(kInvalidArgument);
    return Subject{.gpu = gpus[index]};
  };
}

// A GPU or a MIG device whose UUID satisfies `wanted`.
template <class Predicate>
Outcome<Subject> FindUuid(const Machine& machine, const Predicate& wanted) {
  for (const Gpu* gpu : VisibleGpus(machine)) {
    if (wanted(gpu->uuid)) return Subject{.gpu = gpu};
    for (const GpuInstance& instance : gpu->instances) {
      for (const ComputeInstance& compute : instance.compute) {
        if (!wanted(compute.uuid) || !IsVisible(*gpu, instance, compute)) continue;
        return Subject{.gpu = gpu, .instance = &instance, .compute = &compute};
      }
    }
  }
  return Fail(kNotFound);
}

Locator ByUuid(std::string uuid) {
  return [uuid = std::move(uuid)](const Machine& machine) {
    return FindUuid(machine, [&](const std::string& candidate) { return candidate == uuid; });
  };
}

// The hexadecimal digits of a UUID, without prefix and dashes.
std::string Digits(std::string_view uuid) {
  if (uuid.size() >= 36) uuid.remove_prefix(uuid.size() - 36);
  std::string digits = Lower(uuid);
  std::erase(digits, '-');
  return digits;
}

Locator ByBinaryUuid(const unsigned char (&bytes)[16]) {
  std::string wanted;
  for (const unsigned char byte : bytes) wanted += Format("{:02x}", byte);
  return [wanted](const Machine& machine) {
    return FindUuid(machine, [&](const std::string& candidate) { return Digits(candidate) == wanted; });
  };
}

Locator ByBusId(const char* bus_id) {
  const auto address = bus_id == nullptr ? std::nullopt : ParsePciAddress(bus_id);
  return [address](const Machine& machine) -> Outcome<Subject> {
    if (!address) return Fail(kInvalidArgument);
    return FindGpu(machine, [&](const Gpu& gpu) { return ParsePciAddress(gpu.bus_id) == address; });
  };
}

Locator Refuse(Return code) {
  return [code](const Machine&) { return Outcome<Subject>(Fail(code)); };
}

Locator ByVersionedUuid(const Uuid* uuid) {
  if (uuid == nullptr) return Refuse(kInvalidArgument);
  if (uuid->version != VersionOf<Uuid>(1)) return Refuse(kArgumentVersionMismatch);
  if (uuid->type == 2) return ByBinaryUuid(uuid->value.bytes);
  if (uuid->type != 1) return Refuse(kInvalidArgument);
  return ByUuid(std::string(uuid->value.str, ::strnlen(uuid->value.str, sizeof(uuid->value.str))));
}

}  // namespace

NVML(nvmlDeviceGetCount_v2, unsigned* count) {
  return Answer(__func__, kMachine, count, [](const Machine& m) { return VisibleGpus(m).size(); });
}
NVML(nvmlDeviceGetCount, unsigned* count) {
  return Answer(__func__, kMachine, count, [](const Machine& m) { return VisibleGpus(m).size(); });
}

NVML(nvmlDeviceGetHandleByIndex_v2, unsigned index, Device* device) { return LookUp(__func__, device, ByIndex(index)); }
NVML(nvmlDeviceGetHandleByIndex, unsigned index, Device* device) { return LookUp(__func__, device, ByIndex(index)); }

NVML(nvmlDeviceGetHandleByUUID, const char* uuid, Device* device) {
  return LookUp(__func__, device, uuid == nullptr ? Refuse(kInvalidArgument) : ByUuid(uuid));
}

NVML(nvmlDeviceGetHandleByUUIDV, const Uuid* uuid, Device* device) {
  return LookUp(__func__, device, ByVersionedUuid(uuid));
}

NVML(nvmlDeviceGetHandleByPciBusId_v2, const char* bus_id, Device* device) {
  return LookUp(__func__, device, ByBusId(bus_id));
}
NVML(nvmlDeviceGetHandleByPciBusId, const char* bus_id, Device* device) {
  return LookUp(__func__, device, ByBusId(bus_id));
}

NVML(nvmlDeviceGetHandleBySerial, const char* serial, Device* device) {
  if (serial == nullptr) return LookUp(__func__, device, Refuse(kInvalidArgument));
  return LookUp(__func__, device, [&](const Machine& machine) {
    return FindGpu(machine, [&](const Gpu& gpu) { return !gpu.serial.empty() && gpu.serial == serial; });
  });
}

NVML(nvmlDeviceGetIndex, Device device, unsigned* index) {
  return Answer(__func__, device, index, [](const View& v) -> Outcome<unsigned> {
    if (v.is_mig()) return v.compute->mig_index;
    const auto gpus = VisibleGpus(v.machine);
    const auto self = std::ranges::find(gpus, &v.gpu);
    if (self == gpus.end()) return Fail(kInvalidArgument);
    return static_cast<unsigned>(self - gpus.begin());
  });
}

}  // namespace tessera::sim::library
