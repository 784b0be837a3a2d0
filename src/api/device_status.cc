#include "api/device_status.h"

#include <tuple>

#include "json/decode.h"

namespace tessera::api {

template <class F>
void Describe(F& f, Condition& c) {
  f.Required("type", c.type);
  f.Required("status", c.status);
  f.Required("reason", c.reason);
  f.Required("message", c.message);
  f.Required("lastTransitionTime", c.last_transition);
}

template <class F>
void Describe(F& f, DeviceStatus& d) {
  f.Required("driver", d.driver);
  f.Required("pool", d.pool);
  f.Required("device", d.device);
  f.Optional("shareID", d.share_id);
  f.Optional("conditions", d.conditions);
  std::optional<json::Value> data = d.data.is_null() ? std::nullopt : std::optional(d.data);
  f.Optional("data", data);
  if (data) d.data = *std::move(data);
}

bool SameDevice(const DeviceStatus& a, const DeviceStatus& b) {
  return std::tie(a.driver, a.pool, a.device, a.share_id) == std::tie(b.driver, b.pool, b.device, b.share_id);
}

json::Value ToJson(const std::vector<DeviceStatus>& devices) {
  json::Array list;
  for (const DeviceStatus& device : devices) list.push_back(json::Encode(device));
  return list;
}

std::vector<DeviceStatus> DecodeDeviceStatus(const json::Value& devices, std::string_view driver) {
  std::vector<DeviceStatus> found;
  const json::Array* list = devices.if_array();
  if (list == nullptr) return found;
  for (const json::Value& item : *list) {
    auto device = json::Decode<DeviceStatus>(item, json::Unknown::kIgnore);
    if (device && device->driver == driver) found.push_back(*std::move(device));
  }
  return found;
}

}  // namespace tessera::api
