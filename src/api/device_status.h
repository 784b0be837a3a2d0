// api/device_status.h: entries of a ResourceClaim's status.devices, by which drivers tell how allocated devices are
// (KEP-4817). The same in v1, v1beta2 and v1beta1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace tessera::api {

// metav1.Condition.
struct Condition {
  std::string type;
  std::string status;  // "True", "False" or "Unknown".
  std::string reason;  // PascalCase.
  std::string message;
  std::string last_transition;  // RFC 3339.

  bool operator==(const Condition&) const = default;
};

// Driver, pool, device and share are the key, and must be those of the allocation to the letter.
struct DeviceStatus {
  std::string driver, pool, device;
  std::optional<std::string> share_id;
  std::vector<Condition> conditions;  // At most 8.
  json::Value data;                   // An object of at most 10 KiB; null for none.

  bool operator==(const DeviceStatus&) const = default;
};

bool SameDevice(const DeviceStatus& a, const DeviceStatus& b);

// `status.devices`, as the API server takes it.
json::Value ToJson(const std::vector<DeviceStatus>& devices);

// The entries of one driver. Those that cannot be read are left out: whoever wants another content writes it.
std::vector<DeviceStatus> DecodeDeviceStatus(const json::Value& devices, std::string_view driver);

}  // namespace tessera::api
