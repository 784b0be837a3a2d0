#include "driver/device_faults.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/text.h"
#include "cdi/claim_spec.h"

namespace tessera::driver {
namespace {

using health::Kind;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTaintWait{5'000};
constexpr std::chrono::milliseconds kAnswerTime{500};  // Left of the deadline for the error itself.

// An error's code is never freed; health's are made at run time. There are few: reasons, and Xids that were seen.
std::string_view Lasting(const std::string& code) {
  constexpr std::size_t kMaxCodes = 512;
  static std::mutex mutex;
  static std::set<std::string, std::less<>> codes;
  const std::lock_guard lock(mutex);
  if (codes.size() >= kMaxCodes && !codes.contains(code)) return "PrepareFailed";
  return *codes.insert(code).first;
}

const health::DeviceHealth* Find(const HealthWatch::Report& report, std::string_view device) {
  const auto found = std::ranges::find(*report, device, &health::DeviceHealth::device);
  return found == report->end() ? nullptr : &*found;
}

Error InWordsOf(const health::ReasonReport& reason) {
  return {ErrorKind::kPermanentDevice, Lasting(reason.code), reason.sentence, reason.next};
}

// What health calls it. Only a lost GPU and a missing device node are things that it also sees by itself.
health::Signal SignalOf(const DeviceFault& fault) {
  const api::Hardware& hardware = fault.device.hardware;
  health::Signal signal{.kind = Kind::kPrepareFailed,
                        .place = {hardware.gpu_uuid, {}, {}},
                        .detail = std::string(fault.error.code()),
                        .sight = health::Sight::kPresent,
                        .found = fault.error.message(),
                        .severity = {},
                        .next = fault.error.advice(),
                        .certain = true};
  if (hardware.mig) {
    signal.place.gpu_instance = hardware.mig->gpu_instance;
    signal.place.compute_instance = hardware.mig->compute_instance;
  }
  if (fault.error.code() == "DeviceLost" || fault.error.code() == "DeviceNodeMissing") {
    signal.kind = fault.error.code() == "DeviceLost" ? Kind::kGpuLost : Kind::kDeviceNodeMissing;
    signal.place = {hardware.gpu_uuid, {}, {}};
    signal.detail.clear();
  }
  return signal;
}

bool WasFoundByPrepare(const health::ReasonReport& reason) {
  return reason.kind == Kind::kPrepareFailed || reason.kind == Kind::kDeviceNodeMissing;
}

// The device as a claim would have it.
api::PreparedDevice AsPrepared(const device::Device& device) {
  return {.requests = {},
          .pool = {},
          .name = device.name,
          .admin_access = false,
          .share_id = {},
          .hardware = HardwareOf(device),
          .cdi_ids = {}};
}

}  // namespace

std::vector<DeviceFault> FindDeviceFaults(const api::PreparedClaim& claim, const HardwareState& hardware) {
  std::vector<DeviceFault> faults;
  for (const api::PreparedDevice& device : claim.devices) {
    if (hardware.base_error) {
      faults.push_back({device, *hardware.base_error});
      continue;
    }
    api::PreparedClaim alone = claim;
    alone.devices = {device};
    if (const device::Device* now = FindHardware(hardware, device.hardware)) {
      alone.devices.front().hardware.gpu_minor = now->gpu.minor;  // It may be another after a reboot.
    }
    const auto spec = cdi::MakeClaimSpec(hardware.roots, hardware.graphics, alone);
    if (!spec && spec.error().kind() == ErrorKind::kPermanentDevice) faults.push_back({device, spec.error()});
  }
  return faults;
}

std::optional<Error> HealthFaults::Lost(std::string_view device) const {
  const HealthWatch::Report report = watch_.report();
  const health::DeviceHealth* health = Find(report, device);
  if (health == nullptr) return std::nullopt;
  const auto stands = std::ranges::find_if(health->reasons, [](const health::ReasonReport& reason) {
    return reason.severity == health::Severity::kLost && reason.phase == health::Phase::kStanding &&
           reason.mode != health::Mode::kObserve;
  });
  if (stands == health->reasons.end()) return std::nullopt;
  return InWordsOf(*stands);
}

std::string HealthFaults::Words(std::string_view device) const {
  const HealthWatch::Report report = watch_.report();
  const health::DeviceHealth* health = Find(report, device);
  if (health == nullptr) return {};
  std::string words = ToText(health->state);
  for (const health::ReasonReport& reason : health->reasons)
    words += Format(" {} {}", reason.code, ToText(reason.phase));
  return words;
}

std::vector<DeviceFault> HealthFaults::Tell(std::vector<DeviceFault> faults, Deadline deadline) {
  const auto until = std::min(deadline - kAnswerTime, steady_clock::now() + kTaintWait);
  for (const DeviceFault& fault : faults) watch_.Observe(SignalOf(fault));
  if (watch_.Refresh(until)) {
    publish_();
    (void)publisher_.WaitPublished(until);  // Late or not: the error goes out now, and the publisher keeps trying.
  }
  const HealthWatch::Report report = watch_.report();
  for (DeviceFault& fault : faults) {
    const health::DeviceHealth* health = Find(report, fault.device.name);
    if (health == nullptr) continue;
    const Kind kind = SignalOf(fault).kind;
    const auto reason = std::ranges::find(health->reasons, kind, &health::ReasonReport::kind);
    if (reason != health->reasons.end()) fault.error = InWordsOf(*reason);
  }
  return faults;
}

void HealthFaults::LookAgain(const HardwareState& hardware) {
  const HealthWatch::Report report = watch_.report();
  for (const health::DeviceHealth& health : *report) {
    const auto device = hardware.by_name.find(health.device);
    if (device == hardware.by_name.end() || std::ranges::none_of(health.reasons, WasFoundByPrepare)) continue;
    const api::PreparedDevice prepared = AsPrepared(*device->second);
    const auto now = FindDeviceFaults({.claim = {}, .devices = {prepared}}, hardware);
    for (const health::ReasonReport& reason : health.reasons) {
      if (!WasFoundByPrepare(reason)) continue;
      const bool stands = !now.empty() && now.front().error.code() == reason.code;
      if (stands && reason.phase == health::Phase::kRecovering) watch_.Observe(SignalOf(now.front()));
      if (stands) continue;
      health::Signal gone = SignalOf({prepared, Error(ErrorKind::kPermanentDevice, Lasting(reason.code), "")});
      gone.sight = health::Sight::kAbsent;
      watch_.Observe(std::move(gone));
    }
  }
}

}  // namespace tessera::driver
