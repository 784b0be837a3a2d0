#include "driver/claim_history.h"

#include <pthread.h>

#include <utility>

#include "base/log.h"

namespace tessera::driver {

ClaimHistory::ClaimHistory(Options options, journal::Journal& journal, Trouble& trouble)
    : options_(std::move(options)),
      journal_(journal),
      trouble_(trouble),
      clock_(options_.clock != nullptr ? *options_.clock : SystemClock()),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void ClaimHistory::SetActive(bool active) {
  const std::lock_guard lock(mutex_);
  if (active == active_) return;
  active_ = active;
  fresh_ = fresh_ || active;  // Another instance may have written meanwhile.
  changed_.notify_all();
}

void ClaimHistory::SetHealth(NodeHealth report) {
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
}

void ClaimHistory::Soon() {
  const std::lock_guard lock(mutex_);
  soon_ = true;
  changed_.notify_all();
}

void ClaimHistory::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void ClaimHistory::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "claim-history");
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return active_; });
      if (!active_) return;  // Stopped.
      soon_ = false;
    }
    const bool last = stop.stop_requested();
    Pass();
    if (last) return;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, options_.look_interval, [this] { return soon_ || !active_; });
    if (soon_) changed_.wait_for(lock, stop, options_.settle, [this] { return !active_; });
  }
}

void ClaimHistory::Pass() {
  NodeHealth report;
  bool fresh = false;
  {
    const std::lock_guard lock(mutex_);
    report = report_;
    fresh = std::exchange(fresh_, false);
  }
  const std::filesystem::path file = options_.directory / health::kHistoryFile;
  if (fresh) {
    auto loaded = health::LoadHistory(file);
    if (loaded.damage) trouble_.Say(*loaded.damage);
    history_ = std::move(loaded.value);
    prepared_.clear();
  }
  if (auto read = journal_.Refresh(); !read) log::Failure(read.error(), "Could not read the journal");
  const health::History before = history_;
  auto gone = std::exchange(prepared_, {});
  for (const journal::ClaimPtr& claim : journal_.All()) {
    gone.erase(claim->claim.uid);
    prepared_[claim->claim.uid] = claim;
  }
  for (const auto& [uid, claim] : gone) health::Remember(history_, Past(*claim, report));
  health::Prune(history_, clock_.Now(), options_.keep());
  dirty_ = dirty_ || history_ != before;
  if (!dirty_) return;
  auto stored = health::StoreHistory(file, history_);
  if (!stored) return trouble_.Say(stored.error());  // Tried again at the next look.
  dirty_ = false;
}

health::PastClaim ClaimHistory::Past(const api::PreparedClaim& claim, const NodeHealth& report) const {
  health::PastClaim past{
      .claim_namespace = claim.claim.namespace_name,
      .name = claim.claim.name,
      .uid = claim.claim.uid,
      .finished = std::chrono::duration_cast<std::chrono::seconds>(clock_.Now().time_since_epoch()).count(),
      .devices = {}};
  for (const api::PreparedDevice& device : claim.devices) {
    const health::DeviceHealth* found = report ? FindHealth(*report, device) : nullptr;
    health::PastDevice& added = past.devices.emplace_back();
    if (found != nullptr) added = health::ToPast(*found);
    added.device = device.name;
    if (added.uuid.empty()) added.uuid = DeviceUuid(device.hardware);
  }
  return past;
}

}  // namespace tessera::driver
