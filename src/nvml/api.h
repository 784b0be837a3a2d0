// nvml/api.h: the NVML functions we call, found by name in a library that is loaded at run time.
//
// A driver older than a function simply lacks it: its pointer is null, and whoever calls it loses one answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nvml/abi.h"

namespace tessera::nvml {

// X(name, signature): what the inventory asks (read.h) …
#define TESSERA_NVML_INVENTORY_FUNCTIONS(X)                                                                \
  X(nvmlInitWithFlags, abi::Return(unsigned))                                                              \
  X(nvmlInit_v2, abi::Return())                                                                            \
  X(nvmlShutdown, abi::Return())                                                                           \
  X(nvmlSystemGetDriverVersion, abi::Return(char*, unsigned))                                              \
  X(nvmlSystemGetCudaDriverVersion, abi::Return(int*))                                                     \
  X(nvmlDeviceGetCount_v2, abi::Return(unsigned*))                                                         \
  X(nvmlDeviceGetHandleByIndex_v2, abi::Return(unsigned, abi::Device*))                                    \
  X(nvmlDeviceGetUUID, abi::Return(abi::Device, char*, unsigned))                                          \
  X(nvmlDeviceGetMinorNumber, abi::Return(abi::Device, unsigned*))                                         \
  X(nvmlDeviceGetPciInfo_v3, abi::Return(abi::Device, abi::PciInfo*))                                      \
  X(nvmlDeviceGetName, abi::Return(abi::Device, char*, unsigned))                                          \
  X(nvmlDeviceGetBrand, abi::Return(abi::Device, unsigned*))                                               \
  X(nvmlDeviceGetArchitecture, abi::Return(abi::Device, unsigned*))                                        \
  X(nvmlDeviceGetCudaComputeCapability, abi::Return(abi::Device, int*, int*))                              \
  X(nvmlDeviceGetMemoryInfo, abi::Return(abi::Device, abi::Memory*))                                       \
  X(nvmlDeviceGetAddressingMode, abi::Return(abi::Device, abi::AddressingMode*))                           \
  X(nvmlDeviceGetEccMode, abi::Return(abi::Device, unsigned*, unsigned*))                                  \
  X(nvmlDeviceGetPersistenceMode, abi::Return(abi::Device, unsigned*))                                     \
  X(nvmlDeviceGetMaxPcieLinkGeneration, abi::Return(abi::Device, unsigned*))                               \
  X(nvmlDeviceGetMaxPcieLinkWidth, abi::Return(abi::Device, unsigned*))                                    \
  X(nvmlDeviceGetModuleId, abi::Return(abi::Device, unsigned*))                                            \
  X(nvmlDeviceGetSerial, abi::Return(abi::Device, char*, unsigned))                                        \
  X(nvmlDeviceGetVirtualizationMode, abi::Return(abi::Device, unsigned*))                                  \
  X(nvmlDeviceGetFieldValues, abi::Return(abi::Device, int, abi::FieldValue*))                             \
  X(nvmlDeviceGetNvLinkState, abi::Return(abi::Device, unsigned, unsigned*))                               \
  X(nvmlDeviceGetNvLinkVersion, abi::Return(abi::Device, unsigned, unsigned*))                             \
  X(nvmlDeviceGetNvLinkRemoteDeviceType, abi::Return(abi::Device, unsigned, unsigned*))                    \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2, abi::Return(abi::Device, unsigned, abi::PciInfo*))                \
  X(nvmlDeviceGetGpuFabricInfoV, abi::Return(abi::Device, void*))                                          \
  X(nvmlDeviceGetGpuFabricInfo, abi::Return(abi::Device, abi::FabricInfo*))                                \
  X(nvmlDeviceGetMigMode, abi::Return(abi::Device, unsigned*, unsigned*))                                  \
  X(nvmlDeviceGetMaxMigDeviceCount, abi::Return(abi::Device, unsigned*))                                   \
  X(nvmlDeviceGetMigDeviceHandleByIndex, abi::Return(abi::Device, unsigned, abi::Device*))                 \
  X(nvmlDeviceGetGpuInstanceProfileInfo, abi::Return(abi::Device, unsigned, abi::GpuInstanceProfileInfo*)) \
  X(nvmlDeviceGetGpuInstanceId, abi::Return(abi::Device, unsigned*))                                       \
  X(nvmlDeviceGetComputeInstanceId, abi::Return(abi::Device, unsigned*))                                   \
  X(nvmlDeviceGetAttributes_v2, abi::Return(abi::Device, abi::DeviceAttributes*))                          \
  X(nvmlDeviceGetGpuInstanceById, abi::Return(abi::Device, unsigned, abi::GpuInstance*))                   \
  X(nvmlGpuInstanceGetInfo, abi::Return(abi::GpuInstance, abi::GpuInstanceInfo*))

// … and what the watcher asks besides (watch_session.h).
#define TESSERA_NVML_WATCH_FUNCTIONS(X)                                                              \
  X(nvmlEventSetCreate, abi::Return(abi::EventSet*))                                                 \
  X(nvmlEventSetFree, abi::Return(abi::EventSet))                                                    \
  X(nvmlEventSetWait_v2, abi::Return(abi::EventSet, abi::EventData*, unsigned))                      \
  X(nvmlDeviceGetSupportedEventTypes, abi::Return(abi::Device, unsigned long long*))                 \
  X(nvmlDeviceRegisterEvents, abi::Return(abi::Device, unsigned long long, abi::EventSet))           \
  X(nvmlDeviceGetTotalEccErrors, abi::Return(abi::Device, unsigned, unsigned, unsigned long long*))  \
  X(nvmlDeviceGetRemappedRows, abi::Return(abi::Device, unsigned*, unsigned*, unsigned*, unsigned*)) \
  X(nvmlDeviceGetRetiredPages, abi::Return(abi::Device, unsigned, unsigned*, unsigned long long*))   \
  X(nvmlDeviceGetRetiredPagesPendingStatus, abi::Return(abi::Device, unsigned*))                     \
  X(nvmlDeviceGetTemperature, abi::Return(abi::Device, unsigned, unsigned*))                         \
  X(nvmlDeviceGetTemperatureV, abi::Return(abi::Device, abi::Temperature*))                          \
  X(nvmlDeviceGetCurrentClocksEventReasons, abi::Return(abi::Device, unsigned long long*))           \
  X(nvmlDeviceGetCurrentClocksThrottleReasons, abi::Return(abi::Device, unsigned long long*))        \
  X(nvmlDeviceGetUtilizationRates, abi::Return(abi::Device, abi::Utilization*))                      \
  X(nvmlDeviceGetCurrPcieLinkGeneration, abi::Return(abi::Device, unsigned*))                        \
  X(nvmlDeviceGetCurrPcieLinkWidth, abi::Return(abi::Device, unsigned*))                             \
  X(nvmlDeviceGetNvLinkErrorCounter, abi::Return(abi::Device, unsigned, unsigned, unsigned long long*))

#define TESSERA_NVML_FUNCTIONS(X) TESSERA_NVML_INVENTORY_FUNCTIONS(X) TESSERA_NVML_WATCH_FUNCTIONS(X)

enum class Fn : std::uint16_t {
#define X(name, ...) name,
  TESSERA_NVML_FUNCTIONS(X)
#undef X
};

inline constexpr auto kFunctionNames = std::to_array<std::string_view>({
#define X(name, ...) #name,
    TESSERA_NVML_FUNCTIONS(X)
#undef X
});
inline constexpr std::size_t kFunctionCount = kFunctionNames.size();
inline constexpr std::size_t kInventoryFunctionCount = static_cast<std::size_t>(Fn::nvmlEventSetCreate);

constexpr std::string_view Name(Fn fn) { return kFunctionNames[static_cast<std::size_t>(fn)]; }
std::optional<Fn> FunctionByName(std::string_view name);

namespace detail {
template <Fn>
struct SignatureOf;
#define X(name, ...)             \
  template <>                    \
  struct SignatureOf<Fn::name> { \
    using Type = __VA_ARGS__;    \
  };
TESSERA_NVML_FUNCTIONS(X)
#undef X
}  // namespace detail

// "GPU is lost": NVML's own word for a return code, without asking the library.
std::string_view ReturnText(abi::Return code);

// The functions of one loaded library. Cheap to copy; valid while the library stays loaded.
class Api {
 public:
  // Looks every name up in `handle`, which dlopen() gave.
  static Api From(void* handle);

  // Null when the library does not have it.
  template <Fn fn>
  auto Get() const {
    return reinterpret_cast<typename detail::SignatureOf<fn>::Type*>(pointers_[static_cast<std::size_t>(fn)]);
  }

 private:
  std::array<void*, kFunctionCount> pointers_{};
};

}  // namespace tessera::nvml
