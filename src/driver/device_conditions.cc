#include "driver/device_conditions.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "device/slices.h"

namespace tessera::driver {
namespace {

constexpr std::string_view kReady = "Ready", kHealthy = "Healthy";

std::string StatusText(health::Health health) {
  switch (health) {
    case health::Health::kHealthy:
      return "True";
    case health::Health::kUnhealthy:
      return "False";
    case health::Health::kUnknown:
      break;
  }
  return "Unknown";
}

api::Condition HealthyCondition(const health::DeviceHealth* found, const std::string& time) {
  api::Condition condition{std::string(kHealthy), "Unknown", "NotWatched",
                           "The device is not among those that are watched.", time};
  if (found == nullptr) return condition;
  condition.status = StatusText(found->health);
  condition.reason = found->reasons.empty() ? "NothingFound" : found->reasons.front().code;
  condition.message = found->message;
  return condition;
}

// The words of the ResourceSlice's attributes.
json::Value DataOf(const api::Hardware& hardware, std::string_view driver_version) {
  json::Object data;
  const auto add = [](json::Object& object, std::string_view name, std::string_view text) {
    if (!text.empty()) object[name] = text;
  };
  add(data, "uuid", DeviceUuid(hardware));
  add(data, "pciBusID", hardware.bus_id);
  add(data, "driverVersion", driver_version);
  if (!hardware.mig) return data;
  json::Object mig{{"gpuInstance", hardware.mig->gpu_instance}, {"computeInstance", hardware.mig->compute_instance}};
  add(mig, "parentUUID", hardware.gpu_uuid);
  add(mig, "profile", hardware.mig->profile);
  data["mig"] = std::move(mig);
  return data;
}

}  // namespace

const std::string& DeviceUuid(const api::Hardware& hardware) {
  return hardware.mig ? hardware.mig->uuid : hardware.gpu_uuid;
}

const health::DeviceHealth* FindHealth(const std::vector<health::DeviceHealth>& report,
                                       const api::PreparedDevice& device) {
  const std::string& uuid = DeviceUuid(device.hardware);
  const auto found = std::ranges::find_if(report, [&](const health::DeviceHealth& health) {
    return uuid.empty() ? health.device == device.name : health.uuid == uuid;
  });
  return found == report.end() ? nullptr : &*found;
}

bool IsChecked(const api::PreparedClaim& claim, const std::vector<health::DeviceHealth>& report) {
  return !report.empty() && std::ranges::all_of(claim.devices, [&](const api::PreparedDevice& device) {
    const health::DeviceHealth* found = FindHealth(report, device);
    return found == nullptr || found->health != health::Health::kUnknown || !found->reasons.empty();
  });
}

std::vector<api::DeviceStatus> StatusOf(const api::PreparedClaim& claim,
                                        const std::vector<health::DeviceHealth>& report, std::string_view node_name,
                                        std::string_view driver_version, std::chrono::system_clock::time_point now) {
  const std::string time = Rfc3339(now);
  std::vector<api::DeviceStatus> devices;
  for (const api::PreparedDevice& device : claim.devices) {
    devices.push_back(
        {.driver = std::string(device::kDriverName),
         .pool = device.pool,
         .device = device.name,
         .share_id = device.share_id,
         .conditions = {{std::string(kReady), "True", "Prepared", Format("Prepared on {}.", node_name), time},
                        HealthyCondition(FindHealth(report, device), time)},
         .data = DataOf(device.hardware, driver_version)});
  }
  return devices;
}

void KeepTransitions(std::vector<api::DeviceStatus>& devices, const std::vector<api::DeviceStatus>& before) {
  for (api::DeviceStatus& device : devices) {
    const auto old = std::ranges::find_if(before, [&](const auto& other) { return SameDevice(device, other); });
    if (old == before.end()) continue;
    for (api::Condition& condition : device.conditions) {
      const auto was = std::ranges::find(old->conditions, condition.type, &api::Condition::type);
      if (was != old->conditions.end() && was->status == condition.status) {
        condition.last_transition = was->last_transition;
      }
    }
  }
}

void MarkUnprepared(std::vector<api::DeviceStatus>& devices, std::string_view node_name,
                    std::chrono::system_clock::time_point now) {
  for (api::DeviceStatus& device : devices) {
    const auto ready = std::ranges::find(device.conditions, kReady, &api::Condition::type);
    if (ready == device.conditions.end()) continue;
    *ready = {std::string(kReady), "False", "Unprepared",
              Format("No pod on {} uses it any more. Healthy says how the device was at the end.", node_name),
              Rfc3339(now)};
  }
}

}  // namespace tessera::driver
