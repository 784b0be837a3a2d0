// health/report.h: what is said of a device's health: to the kubelet, in slices, to people.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_slice.h"
#include "health/catalogue.h"
#include "health/reason.h"
#include "health/terms.h"

namespace tessera::health {

inline constexpr std::string_view kTaintDomain = "gpu.nvidia.com/";
inline constexpr std::size_t kMaxMessage = 1024;  // Bytes; the kubelet cuts beyond, through characters if need be.
inline constexpr std::size_t kMaxTaints = 4;      // Kubernetes 1.33 and 1.34; later ones take 16.

// The kubelet's three words.
enum class Health : std::uint8_t { kUnknown, kHealthy, kUnhealthy };
std::string ToText(Health health);  // "Unknown", …
bool FromText(std::string_view text, Health& out);

struct ReasonReport {
  Kind kind = Kind::kXid;
  std::string code;  // "Xid79", "ThermalSlowdown": fit for a condition's reason and a metric's label.
  Class cls = Class::kUnknown;
  Phase phase = Phase::kSuspect;
  bool held = false;                    // By the brake.
  Severity severity = Severity::kNone;  // As it counts now.
  Mode mode = Mode::kTaint;
  std::string sentence;  // What was found.
  std::string next;      // What to do.
  std::chrono::system_clock::time_point since, last_seen;
  std::uint64_t times = 0;
};

struct DeviceHealth {
  std::string device;    // Its name in the slice.
  std::string uuid;      // Of the GPU or MIG device.
  std::string gpu_uuid;  // Of the physical GPU.
  State state = State::kHealthy;
  std::chrono::system_clock::time_point since;                  // In this state.
  std::optional<std::chrono::system_clock::time_point> looked;  // When vitals of its GPU last came.
  Severity severity = Severity::kNone;
  Health health = Health::kUnknown;
  std::string message;                // At most kMaxMessage bytes. Empty when there is nothing to say.
  std::vector<ReasonReport> reasons;  // The worst first.
  // At most kMaxTaints, one a key, the strongest first. An effect of "None" needs Kubernetes 1.35.
  std::vector<api::Taint> taints;
  bool withdraw = false;  // The policy wants it out of the slice instead of tainted.
};

// One reason in words. `brake` says why it is held, where it is.
ReasonReport MakeReasonReport(const ReasonKey& key, const Reason& reason, const Rule& rule, std::string_view brake);

// Everything that follows from the reasons; names and times are the caller's. `heard`: somebody has looked at the
// GPU since the plugin started.
DeviceHealth MakeDeviceHealth(std::vector<ReasonReport> reasons, bool heard, Isolation isolation);

// Whether somebody must be told: everything but times and counts.
bool SameToOthers(const DeviceHealth& a, const DeviceHealth& b);

}  // namespace tessera::health
