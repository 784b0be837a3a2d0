#include "driver/claim_status.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "device/slices.h"

namespace tessera::driver {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kReadTimeout{5};  // Short: whoever ends the process waits for it.

bool IsAllocated(const api::ResourceClaim& claim, const api::PreparedDevice& device) {
  return claim.allocation && std::ranges::any_of(claim.allocation->results, [&](const api::AllocationResult& result) {
           return result.driver == device::kDriverName && result.pool == device.pool && result.device == device.name &&
                  result.share_id == device.share_id;
         });
}

Error Refused(const Error& error) {
  return {
      ErrorKind::kPermanentConfig, "ClaimStatusRefused",
      "the API server does not let us write status.devices: " + error.message(),
      "compare the ClusterRole with docs/configuration.md: from Kubernetes 1.36 on resourceclaims/driver is needed"};
}

}  // namespace

ClaimStatus::ClaimStatus(Options options, Parts parts)
    : options_(std::move(options)),
      parts_(parts),
      clock_(options_.clock != nullptr ? *options_.clock : SystemClock()),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

ClaimStatus::~ClaimStatus() = default;

void ClaimStatus::SetActive(bool active) {
  const std::lock_guard lock(mutex_);
  if (active == active_) return;
  active_ = active;
  fresh_ = true;  // Another instance may have written meanwhile.
  changed_.notify_all();
}

void ClaimStatus::SetHealth(NodeHealth report) {
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
  soon_ = true;
  changed_.notify_all();
}

void ClaimStatus::Soon() {
  const std::lock_guard lock(mutex_);
  soon_ = true;
  changed_.notify_all();
}

void ClaimStatus::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "claim-status");
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return active_ && report_ != nullptr; });
      if (stop.stop_requested()) return;
      soon_ = false;
    }
    const auto next = Pass(stop);
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, stop, next, [this] { return soon_ || !active_; });
    if (soon_) changed_.wait_for(lock, stop, options_.settle, [this] { return !active_; });
  }
}

steady_clock::time_point ClaimStatus::Pass(const std::stop_token& stop) {
  NodeHealth report;
  bool fresh = false;
  {
    const std::lock_guard lock(mutex_);
    report = report_;
    fresh = std::exchange(fresh_, false);
  }
  if (fresh) entries_.clear();
  if (auto read = parts_.journal.Refresh(); !read) log::Failure(read.error(), "Could not read the journal");
  if (const auto hardware = parts_.hardware.state()) driver_version_ = hardware->snapshot->driver_version;
  Follow(*report, fresh);

  auto next = clock_.Monotonic() + options_.look_interval;
  for (auto& [uid, entry] : entries_) {
    if (!stop.stop_requested() && IsDue(entry)) Settle(entry, stop);
    if (!entry.gone && entry.wanted != entry.stored) next = std::min(next, std::max(entry.not_before, off_until_));
  }
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    return entry.ended && (entry.gone || entry.wanted == entry.stored || clock_.Monotonic() >= entry.give_up);
  });
  return next;
}

bool ClaimStatus::IsDue(const Entry& entry) const {
  const auto now = clock_.Monotonic();
  return !entry.gone && entry.wanted != entry.stored && entry.not_before <= now && off_until_ <= now;
}

void ClaimStatus::Follow(const std::vector<health::DeviceHealth>& report, bool fresh) {
  const std::vector<journal::ClaimPtr> claims = parts_.journal.All();
  for (const journal::ClaimPtr& claim : claims) {
    // Of a local run's claim the API server knows nothing.
    if (claim->claim.name.empty() || claim->run || claim->state != api::ClaimState::kCompleted) continue;
    const auto [found, added] = entries_.try_emplace(claim->claim.uid);
    Entry& entry = found->second;
    // Prepared anew: the server has dropped the entries of an allocation that ended.
    const bool anew = !added && *entry.claim != *claim;
    if (anew) entry = {};
    entry.ask = entry.ask || anew || (added && fresh);
    entry.claim = claim;
    entry.ended = false;
    if (!IsChecked(*claim, report)) continue;
    auto wanted = StatusOf(*claim, report, options_.node_name, driver_version_, clock_.Now());
    KeepTransitions(wanted, entry.wanted);
    entry.wanted = std::move(wanted);
  }
  for (auto& [uid, entry] : entries_) {
    const bool prepared = std::ranges::binary_search(
        claims, uid, {}, [](const auto& claim) -> const std::string& { return claim->claim.uid; });
    if (!prepared && !entry.ended) End(entry);
  }
}

void ClaimStatus::End(Entry& entry) {
  entry.ended = true;
  entry.not_before = clock_.Monotonic();
  entry.give_up = entry.not_before + options_.end_patience;
  MarkUnprepared(entry.wanted, options_.node_name, clock_.Now());
}

void ClaimStatus::Settle(Entry& entry, const std::stop_token& stop) {
  const bool asked = entry.ask;
  if (asked) {
    auto stored = Stored(entry);
    if (!stored) return Fail(entry, stored.error(), false);
    entry.ask = false;
    entry.gone = !stored->has_value();
    if (entry.gone) return;
    entry.stored = *std::move(*stored);
    KeepTransitions(entry.wanted, entry.stored);
    if (entry.wanted == entry.stored) return;
  }
  const auto kept = parts_.store.Apply(entry.claim->claim, entry.wanted, stop);
  if (!kept) return Fail(entry, kept.error(), asked);
  if (kept->empty()) return NoteDropped();
  parts_.metrics.status_writes.With({"written"}).Add();
  entry.stored = entry.wanted;
  entry.delay = {};
}

Result<std::optional<std::vector<api::DeviceStatus>>> ClaimStatus::Stored(const Entry& entry) {
  const api::ClaimRef& ref = entry.claim->claim;
  const auto claim = parts_.claims.Get(ref, steady_clock::now() + kReadTimeout, ClaimSource::Urgency::kBackground);
  if (!claim && claim.error().code() != "ApiNotFound") return std::unexpected(claim.error());
  const auto is_allocated = [&](const api::PreparedDevice& device) { return IsAllocated(*claim, device); };
  if (!claim || claim->ref.uid != ref.uid || !std::ranges::all_of(entry.claim->devices, is_allocated)) {
    return std::nullopt;
  }
  return api::DecodeDeviceStatus(claim->raw_devices, device::kDriverName);
}

void ClaimStatus::Fail(Entry& entry, const Error& error, bool asked) {
  parts_.metrics.status_writes.With({"failed"}).Add();
  entry.delay = std::clamp(entry.delay * 2, options_.retry_from, options_.retry_to);
  const bool refused = error.code() == "ApiInvalid" || error.code() == "ApiForbidden";
  const bool puzzling = refused || error.code() == "ApiNotFound" || error.code() == "ApiConflict";
  if (refused && asked) {  // So it is our claim, with our devices.
    parts_.trouble.Say(Refused(error));
    entry.delay = options_.retry_to;
  }
  entry.ask = entry.ask || puzzling;
  entry.gone = puzzling && entry.ended;  // It was freed or deleted, as is usual after its end.
  entry.not_before = clock_.Monotonic() + entry.delay;
  log::Verbose(2, "Could not write the status of a claim's devices",
               {{"claim", api::ToText(entry.claim->claim)}, {"code", error.code()}, {"err", error.message()}});
}

// A feature gate is off there. It may be switched on with an upgrade, while we run.
void ClaimStatus::NoteDropped() {
  parts_.metrics.status_writes.With({"dropped"}).Add();
  off_until_ = clock_.Monotonic() + options_.recheck;
  if (std::exchange(said_dropped_, true)) return;
  parts_.trouble.Say(
      {ErrorKind::kPermanentConfig, "ClaimStatusDropped",
       "the API server does not keep status.devices of claims, so they do not tell how devices are",
       "switch its feature gate DRAResourceClaimDeviceStatus on; it is on by default from Kubernetes 1.33"});
}

}  // namespace tessera::driver
