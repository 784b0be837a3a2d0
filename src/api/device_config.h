// api/device_config.h: the opaque configs of resource.nvidia.com/v1beta1 that claims and classes carry, and which of
// them applies to a device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "api/resource_claim.h"
#include "base/error.h"
#include "base/quantity.h"

namespace tessera::api {

enum class SharingStrategy : std::uint8_t { kTimeSlicing, kMps };
bool FromText(std::string_view text, SharingStrategy& strategy);
std::string ToText(SharingStrategy strategy);

struct TimeSlicingConfig {
  std::optional<std::string> interval;  // Default, Short, Medium, Long.
};

struct MpsConfig {
  std::optional<int> default_active_thread_percentage;
  std::optional<Quantity> default_pinned_device_memory_limit;
  std::map<std::string, Quantity> default_per_device_pinned_memory_limit;  // By index or UUID.
  std::optional<bool> multi_user;
};

struct Sharing {
  SharingStrategy strategy = SharingStrategy::kTimeSlicing;
  std::optional<TimeSlicingConfig> time_slicing;
  std::optional<MpsConfig> mps;
};

struct GpuConfig {
  std::optional<Sharing> sharing;
};
struct MigDeviceConfig {
  std::optional<Sharing> sharing;
};
struct VfioDeviceConfig {
  std::optional<std::string> backend_policy;  // LegacyOnly, PreferIommuFD.
  std::optional<bool> enable_api_device;
};

using DeviceConfig = std::variant<GpuConfig, MigDeviceConfig, VfioDeviceConfig>;

// "GpuConfig", "MigDeviceConfig", "VfioDeviceConfig".
std::string_view KindOf(const DeviceConfig& config);

// Strict: unknown and duplicate fields, unknown kinds (with a near match) and values out of range are errors, all of
// them at once. `path` is where `parameters` stand in the claim.
Result<DeviceConfig> DecodeDeviceConfig(const json::Value& parameters, std::string_view path);

// What a config asks for that this version does not do, as "field: value"; nothing when it does all of it.
std::optional<std::string> Unserved(const DeviceConfig& config);

enum class DeviceType : std::uint8_t { kGpu, kMig };

// The config for one result: class before claim, the later wins. One that names the result's request (its main name
// covers its sub-requests) must be of the device's kind; one for all requests applies where its kind fits. Nothing when
// none applies. Only configs of `driver` count. An error has the faults of all that might apply.
Result<std::optional<DeviceConfig>> ConfigFor(const AllocationResult& result, DeviceType type,
                                              const std::vector<AllocationConfig>& configs, std::string_view driver);

}  // namespace tessera::api
