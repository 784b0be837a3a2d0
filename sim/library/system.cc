// The driver and the machine as a whole: versions, names, confidential computing, excluded devices.
#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "sim/library/library.h"

namespace tessera::sim::library {
namespace {

struct CodeText {
  Return code;
  const char* text;
};

constexpr CodeText kTexts[] = {
    {kSuccess, "Success"},
    {kUninitialized, "Uninitialized"},
    {kInvalidArgument, "Invalid Argument"},
    {kNotSupported, "Not Supported"},
    {kNoPermission, "Insufficient Permissions"},
    {kAlreadyInitialized, "Already Initialized"},
    {kNotFound, "Not Found"},
    {kInsufficientSize, "Insufficient Size"},
    {kInsufficientPower, "Insufficient External Power"},
    {kDriverNotLoaded, "Driver Not Loaded"},
    {kTimeout, "Timeout"},
    {kIrqIssue, "Interrupt Request Issue"},
    {kLibraryNotFound, "NVML Shared Library Not Found"},
    {kFunctionNotFound, "Function Not Found"},
    {kCorruptedInforom, "Corrupted infoROM"},
    {kGpuIsLost, "GPU is lost"},
    {kResetRequired, "GPU requires reset"},
    {kOperatingSystem, "GPU access blocked by the operating system"},
    {kLibRmVersionMismatch, "Driver/library version mismatch"},
    {kInUse, "In use by another client"},
    {kMemory, "Insufficient Memory"},
    {kNoData, "No data"},
    {kVgpuEccNotSupported, "vGPU ECC not supported"},
    {kInsufficientResources, "Insufficient Resources"},
    {kFreqNotSupported, "Invalid Frequency"},
    {kArgumentVersionMismatch, "Argument version mismatch"},
    {kDeprecated, "Requested functionality has been deprecated"},
    {kNotReady, "System is not in ready state"},
    {kGpuNotFound, "No supported GPUs were found"},
    {kInvalidState, "Resource not in correct state to perform requested operation"},
    {kResetTypeNotSupported, "Reset type is not supported for given device"},
};

// Only this one was ever seen, and it does not follow from the version.
std::string Branch(const Machine& machine) {
  if (machine.driver_version == "580.159.04") return "r582_49";
  return Format("r{}_00", Split(machine.driver_version, '.').front());
}

bool HasProcess(const Machine& machine, unsigned pid) {
  return std::ranges::any_of(machine.gpus, [&](const Gpu& gpu) {
    return std::ranges::any_of(gpu.processes, [&](const Process& process) { return process.pid == pid; });
  });
}

Outcome<std::string> ProcessName(const Machine& machine, unsigned pid) {
  if (const auto line = ReadFile(Format("/proc/{}/cmdline", pid)); line.has_value() && !line->empty()) {
    return line->substr(0, line->find('\0'));  // The first argument.
  }
  if (HasProcess(machine, pid)) return Format("simulated-{}", pid);
  return Fail(kNotFound);
}

// Confidential computing exists from Hopper on, and is off.
bool ConfComputeCapable(const Machine& machine) {
  return std::ranges::any_of(machine.gpus, [&](const Gpu& gpu) {
    const Model* model = ModelOf(machine, gpu);
    return model != nullptr && model->architecture >= kArchHopper;
  });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(Return code) {
  const auto found = std::ranges::find(kTexts, code, &CodeText::code);
  return found == std::end(kTexts) ? "Unknown Error" : found->text;
}

NVML(nvmlSystemGetDriverVersion, char* version, unsigned length) {
  return Answer(__func__, kMachine, Text{version, length}, [](const Machine& m) { return m.driver_version; });
}

NVML(nvmlSystemGetNVMLVersion, char* version, unsigned length) {
  return Answer(__func__, kMachine, Text{version, length},
                [](const Machine& m) { return Format("{}.{}", m.cuda_version / 1000, m.driver_version); });
}

NVML(nvmlSystemGetCudaDriverVersion, int* version) {
  return Answer(__func__, kMachine, version, [](const Machine& m) { return m.cuda_version; });
}

NVML(nvmlSystemGetCudaDriverVersion_v2, int* version) {
  return Answer(__func__, kMachine, version, [](const Machine& m) { return m.cuda_version; });
}

NVML(nvmlSystemGetDriverBranch, DriverBranchInfo* info, unsigned length) {
  return Answer(__func__, kMachine, Versioned{info, 1}, [&](const Machine& m) -> Outcome<DriverBranchInfo> {
    const std::string branch = Branch(m);
    if (branch.size() >= length) return Fail(kInsufficientSize);
    DriverBranchInfo answer{};
    SetText(answer.branch, branch);
    return answer;
  });
}

NVML(nvmlSystemGetProcessName, unsigned pid, char* name, unsigned length) {
  return Answer(__func__, kMachine, Text{name, length}, [&](const Machine& m) { return ProcessName(m, pid); });
}

// No GPU is excluded by a module option here.
NVML(nvmlGetExcludedDeviceCount, unsigned* count) {
  return Answer(__func__, kMachine, count, [](const Machine&) { return 0U; });
}
NVML(nvmlGetBlacklistDeviceCount, unsigned* count) {
  return Answer(__func__, kMachine, count, [](const Machine&) { return 0U; });
}
NVML(nvmlGetExcludedDeviceInfoByIndex, unsigned, ExcludedDeviceInfo* info) {
  return Answer(__func__, kMachine, info,
                [](const Machine&) { return Outcome<ExcludedDeviceInfo>(Fail(kInvalidArgument)); });
}
NVML(nvmlGetBlacklistDeviceInfoByIndex, unsigned, ExcludedDeviceInfo* info) {
  return Answer(__func__, kMachine, info,
                [](const Machine&) { return Outcome<ExcludedDeviceInfo>(Fail(kInvalidArgument)); });
}

NVML(nvmlSystemGetConfComputeCapabilities, ConfComputeCaps* caps) {
  return Answer(__func__, kMachine, caps, [](const Machine& m) {
    return ConfComputeCaps{.cpuCaps = 0, .gpusCaps = ConfComputeCapable(m) ? 1U : 0U};
  });
}

NVML(nvmlSystemGetConfComputeState, ConfComputeState* state) {
  return Answer(__func__, kMachine, state, [](const Machine&) { return ConfComputeState{}; });
}

NVML(nvmlSystemGetConfComputeGpusReadyState, unsigned* accepting) {
  return Answer(__func__, kMachine, accepting, [](const Machine&) { return 0U; });
}

NVML(nvmlSystemGetConfComputeSettings, ConfComputeSettings* settings) {
  return Answer(__func__, kMachine, Versioned{settings, 1}, [](const Machine&) { return ConfComputeSettings{}; });
}

}  // namespace tessera::sim::library
