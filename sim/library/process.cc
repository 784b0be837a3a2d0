// The processes that use a device.
#include <algorithm>

#include "sim/library/library.h"

namespace tessera::sim::library {
namespace {

constexpr unsigned kModeCompute = 0, kModeAll = 3;  // Of nvmlDeviceGetRunningProcessDetailList.

bool RunsOn(const Process& process, const View& v) {
  return !v.is_mig() || (process.gpu_instance == v.instance->id && process.compute_instance == v.compute->id);
}

// All simulated processes compute; none draws, none is an MPS client.
std::vector<ProcessDetail> Running(const View& v) {
  std::vector<ProcessDetail> found;
  for (const Process& process : v.gpu.processes) {
    if (!RunsOn(process, v)) continue;
    found.push_back({.pid = process.pid,
                     .usedGpuMemory = process.memory,
                     .gpuInstanceId = process.gpu_instance.value_or(kNoInstance),
                     .computeInstanceId = process.compute_instance.value_or(kNoInstance),
                     .usedGpuCcProtectedMemory = 0});
  }
  return found;
}

ProcessInfo Narrow(const ProcessDetail& detail, ProcessInfo*) {
  return {.pid = detail.pid,
          .usedGpuMemory = detail.usedGpuMemory,
          .gpuInstanceId = detail.gpuInstanceId,
          .computeInstanceId = detail.computeInstanceId};
}
ProcessInfoV1 Narrow(const ProcessDetail& detail, ProcessInfoV1*) {
  return {.pid = detail.pid, .usedGpuMemory = detail.usedGpuMemory};
}

// `Info` is what the caller's symbol was declared with.
template <class Info>
Return AnswerCompute(std::string_view function, Device device, unsigned* count, Info* infos) {
  return Answer(function, device, Sized{count, infos}, [](const View& v) {
    std::vector<Info> found;
    for (const ProcessDetail& detail : Running(v)) found.push_back(Narrow(detail, static_cast<Info*>(nullptr)));
    return found;
  });
}

template <class Info>
Return AnswerNone(std::string_view function, Device device, unsigned* count, Info* infos) {
  return Answer(function, device, Sized{count, infos}, [](const View&) { return std::vector<Info>{}; });
}

// The list's own members say where its entries go.
struct DetailList {
  ProcessDetailList* list;
  Sized<ProcessDetail> entries() const { return {&list->numProcArrayEntries, list->procArray}; }

  Return Check() const {
    const Return wrong = Versioned{list, 1}.Check();
    return wrong != kSuccess ? wrong : entries().Check();
  }
  void Spoil() const { entries().Spoil(); }
  Return Write(const std::vector<ProcessDetail>& found) const { return entries().Write(found); }
};

}  // namespace

NVML(nvmlDeviceGetComputeRunningProcesses_v3, Device device, unsigned* count, ProcessInfo* infos) {
  return AnswerCompute(__func__, device, count, infos);
}
NVML(nvmlDeviceGetComputeRunningProcesses_v2, Device device, unsigned* count, ProcessInfo* infos) {
  return AnswerCompute(__func__, device, count, infos);
}
NVML(nvmlDeviceGetComputeRunningProcesses, Device device, unsigned* count, ProcessInfoV1* infos) {
  return AnswerCompute(__func__, device, count, infos);
}

NVML(nvmlDeviceGetGraphicsRunningProcesses_v3, Device device, unsigned* count, ProcessInfo* infos) {
  return AnswerNone(__func__, device, count, infos);
}
NVML(nvmlDeviceGetGraphicsRunningProcesses_v2, Device device, unsigned* count, ProcessInfo* infos) {
  return AnswerNone(__func__, device, count, infos);
}
NVML(nvmlDeviceGetGraphicsRunningProcesses, Device device, unsigned* count, ProcessInfoV1* infos) {
  return AnswerNone(__func__, device, count, infos);
}

NVML(nvmlDeviceGetMPSComputeRunningProcesses_v3, Device device, unsigned* count, ProcessInfo* infos) {
  return AnswerNone(__func__, device, count, infos);
}
NVML(nvmlDeviceGetMPSComputeRunningProcesses_v2, Device device, unsigned* count, ProcessInfo* infos) {
  return AnswerNone(__func__, device, count, infos);
}
NVML(nvmlDeviceGetMPSComputeRunningProcesses, Device device, unsigned* count, ProcessInfoV1* infos) {
  return AnswerNone(__func__, device, count, infos);
}

NVML(nvmlDeviceGetRunningProcessDetailList, Device device, ProcessDetailList* list) {
  return Answer(__func__, device, DetailList{list}, [&](const View& v) -> Outcome<std::vector<ProcessDetail>> {
    if (v.model.architecture < kArchHopper) return Fail(kNotSupported);
    if (list->mode > kModeAll) return Fail(kInvalidArgument);
    return list->mode == kModeCompute || list->mode == kModeAll ? Running(v) : std::vector<ProcessDetail>{};
  });
}

}  // namespace tessera::sim::library
