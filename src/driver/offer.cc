#include "driver/offer.h"

#include <algorithm>

#include "base/text.h"
#include "driver/published_devices.h"

namespace tessera::driver {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookInterval{5'000}, kLookTimeout{1'000};
constexpr int kPatience = 3;  // Failed scans in a row.

}  // namespace

// Without a driver the node offers nothing: at once when it never answered, after a while when it did, because a driver
// that reloads is back in seconds. A scan counts only once it is noted, because health must know of it first.
void Offer::Publish() {
  const auto state = parts_.hardware.state();
  const int failed = failed_scans_;
  if (state && failed >= 0 && failed < kPatience) {
    parts_.publisher.SetDevices(Devices(*state->snapshot));
  } else if (parts_.hardware.failure()) {
    parts_.publisher.SetDevices({});
  }
}

std::vector<api::Device> Offer::Devices(const device::Snapshot& snapshot) {
  const HealthWatch::Report health = parts_.health.report();
  auto devices = PublishedDevices(snapshot, parts_.foreign.Current(), parts_.journal.All(), *health);
  const std::lock_guard lock(mutex_);
  KeepEvicted(devices, published_, *health);
  published_ = devices;
  return devices;
}

bool Offer::NoteScan() {
  const bool failed = parts_.hardware.failure().has_value();
  const bool is_back = failed_scans_ != 0 && !failed;
  failed_scans_ = failed ? std::max(failed_scans_.load(), 0) + 1 : 0;
  return is_back;
}

void Offer::OnPreparedChange() {
  if (follows_claims_) Publish();
}

void Offer::LookForForeigners() {
  if (steady_clock::now() < next_look_) return;
  next_look_ = steady_clock::now() + kLookInterval;
  LookForRuns();
  // No such API on old kubelets, no mount in old charts: nothing to learn.
  if (!parts_.foreign.Refresh(kLookTimeout)) return;
  ReportConflicts(parts_.foreign.Current());
  Publish();  // Others ask the kubelet as well, so what changed since last time is not known; the same is not written.
}

void Offer::LookForRuns() {
  if (!parts_.journal.Refresh()) return;  // Whoever prepares says what is wrong with it.
  std::vector<std::string> runs;
  for (const journal::ClaimPtr& claim : parts_.journal.All()) {
    if (claim->run) runs.push_back(claim->claim.uid);
  }
  if (runs == runs_) return;
  runs_ = std::move(runs);
  Publish();
}

void Offer::ReportConflicts(const std::vector<ForeignHolder>& holders) {
  (*parts_.metrics.foreign_holders).Set(static_cast<double>(holders.size()));
  double conflicts = 0;
  for (const ForeignHolder& holder : holders) {
    for (const journal::ClaimPtr& claim : parts_.journal.All()) {
      for (const api::PreparedDevice& device : claim->devices) {
        if (!Holds(holder, device.hardware) || device.admin_access) continue;
        ++conflicts;
        const std::string text = Format("{} is held by claim {} and, through {}, by pod {}", device.name,
                                        api::ToText(claim->claim), holder.resource, holder.pod);
        if (!claim->run) parts_.events.Post(ClaimTarget(claim->claim), EventType::kWarning, "DeviceConflict", text);
        parts_.events.Post(NodeTarget(node_name_), EventType::kWarning, "DeviceConflict", text);
      }
    }
  }
  (*parts_.metrics.device_conflicts).Set(conflicts);
}

}  // namespace tessera::driver
