#include "nvml/api.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>

namespace tessera::nvml {

std::optional<Fn> FunctionByName(std::string_view name) {
  const auto found = std::ranges::find(kFunctionNames, name);
  if (found == kFunctionNames.end()) return std::nullopt;
  return static_cast<Fn>(found - kFunctionNames.begin());
}

std::string_view ReturnText(abi::Return code) {
  switch (code) {
    case abi::kSuccess:
      return "Success";
    case abi::kUninitialized:
      return "Uninitialized";
    case abi::kInvalidArgument:
      return "Invalid Argument";
    case abi::kNotSupported:
      return "Not Supported";
    case abi::kNoPermission:
      return "Insufficient Permissions";
    case abi::kNotFound:
      return "Not Found";
    case abi::kInsufficientSize:
      return "Insufficient Size";
    case abi::kInsufficientPower:
      return "Insufficient External Power";
    case abi::kDriverNotLoaded:
      return "Driver Not Loaded";
    case abi::kTimeout:
      return "Timeout";
    case abi::kIrqIssue:
      return "Interrupt Request Issue";
    case abi::kLibraryNotFound:
      return "NVML Shared Library Not Found";
    case abi::kFunctionNotFound:
      return "Function Not Found";
    case abi::kCorruptedInforom:
      return "Corrupted infoROM";
    case abi::kGpuIsLost:
      return "GPU is lost";
    case abi::kResetRequired:
      return "GPU requires reset";
    case abi::kOperatingSystem:
      return "GPU access blocked by the operating system";
    case abi::kLibRmVersionMismatch:
      return "Driver/library version mismatch";
    case abi::kInUse:
      return "In use by another client";
    case abi::kMemory:
      return "Insufficient Memory";
    case abi::kNoData:
      return "No data";
    case abi::kInsufficientResources:
      return "Insufficient Resources";
    case abi::kArgumentVersionMismatch:
      return "Argument version mismatch";
    case abi::kDeprecated:
      return "Requested functionality has been deprecated";
    case abi::kNotReady:
      return "System is not in ready state";
    case abi::kGpuNotFound:
      return "No supported GPUs were found";
    case abi::kInvalidState:
      return "Resource not in correct state to perform requested operation";
    default:
      return "Unknown Error";
  }
}

Api Api::From(void* handle) {
  Api api;
  for (std::size_t i = 0; i < kFunctionCount; ++i) {
    api.pointers_[i] = ::dlsym(handle, std::string(kFunctionNames[i]).c_str());
  }
  return api;
}

}  // namespace tessera::nvml
