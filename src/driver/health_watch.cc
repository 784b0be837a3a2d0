#include "driver/health_watch.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "driver/health_metrics.h"

namespace tessera::driver {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kTurn{1};  // At the latest: proofs and expiries are a matter of time.

health::Moment Now() { return {std::chrono::system_clock::now(), steady_clock::now()}; }

bool IsUnloaded(const Error& failure) {
  return failure.code() == "DriverNotLoaded" || failure.code() == "DriverNotFound";
}

std::set<std::string> GpusOf(const device::Snapshot& snapshot) {
  std::set<std::string> uuids;
  for (const device::Device& device : snapshot.devices) uuids.insert(device.gpu.uuid);
  return uuids;
}

// NVML answers through nodes that it opened long ago; a pod could not open one that is gone.
void LookForNodes(const HardwareState& hardware, health::Monitor& monitor, health::Moment now) {
  std::set<std::string_view> looked;
  for (const device::Device& device : hardware.snapshot->devices) {
    if (!looked.insert(device.gpu.uuid).second) continue;
    const auto node = hardware.roots.dev / Format("dev/nvidia{}", device.gpu.minor);
    std::error_code error;
    const bool gone = !std::filesystem::exists(node, error) && !error;
    monitor.Observe({.kind = health::Kind::kDeviceNodeMissing,
                     .place = {device.gpu.uuid, {}, {}},
                     .sight = gone ? health::Sight::kPresent : health::Sight::kAbsent,
                     .found = node.string()},
                    now);
  }
}

}  // namespace

HealthWatch::HealthWatch(Options options, Parts parts)
    : options_(std::move(options)),
      parts_(parts),
      lease_(health::Policy().lease()),
      history_(health::Policy().history()),
      files_(options_.files, parts_.trouble),
      state_(options_.state_file),
      watcher_(options_.watch) {}

HealthWatch::~HealthWatch() { Stop(); }

void HealthWatch::Start() {
  {
    const std::lock_guard lock(mutex_);
    running_ = true;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void HealthWatch::Stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  watcher_.Interrupt();
  thread_.join();
}

HealthWatch::Report HealthWatch::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

HealthWatch::Time HealthWatch::made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

void HealthWatch::Observe(health::Signal signal) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMaxWaiting) return (*parts_.metrics.health_signals_dropped).Add();
    waiting_.push_back(std::move(signal));
  }
  watcher_.Interrupt();
}

bool HealthWatch::Refresh(Time deadline) {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = begun_ + 1;  // The one under way may have missed what the caller means.
  watcher_.Interrupt();
  turned_.wait_until(lock, deadline, [&] { return ended_ >= wanted || !running_; });
  return ended_ >= wanted;
}

// ---- The health thread.

void HealthWatch::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "health");
  Prepare();
  while (!stop.stop_requested()) {
    Turn();
    Watch(steady_clock::now() + kTurn);
  }
  watcher_.Release();
  if (leading_) Note(state_.Keep(monitor_.Save(options_.boot_id, Now())));
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  turned_.notify_all();
}

// The policy first: what a reboot clears depends on it.
void HealthWatch::Prepare() {
  watcher_.Release();  // Until a scan says that there is a driver.
  FollowFiles(Now());
  const auto loaded = state_.Load();
  if (loaded.damage) parts_.trouble.Say(*loaded.damage);
  monitor_.Restore(loaded.value, options_.boot_id, Now());
}

void HealthWatch::Turn() {
  {
    const std::lock_guard lock(mutex_);
    ++begun_;
  }
  const health::Moment now = Now();
  FollowInventory(now);
  FollowFiles(now);
  TakeWaiting(now);
  const std::vector<health::Change> changes = Conclude(now);
  CountTransitions(changes, parts_.metrics);
  if (!changes.empty() && on_change) on_change(report(), changes);
  if (on_look) on_look();
  {
    const std::lock_guard lock(mutex_);
    ++ended_;
  }
  turned_.notify_all();
  // Nobody waits for the disk.
  if (leading_) Note(state_.KeepIfDue(monitor_.Save(options_.boot_id, now), now.mono));
}

void HealthWatch::FollowInventory(health::Moment now) {
  const auto failure = parts_.hardware.failure();
  const auto state = parts_.hardware.state();
  unloaded_ |= failure && IsUnloaded(*failure);
  const bool answers = state && !failure;
  if (answers != watching_) {
    watching_ = answers;
    if (answers) watcher_.Resume();
    if (!answers && !watcher_.Release()) log::Warning("The process that watches the GPUs cannot be ended");
  }
  if (!answers || state == hardware_) return;
  hardware_ = state;
  monitor_.SetDevices(*state->snapshot, now);
  std::set<std::string> gpus = GpusOf(*state->snapshot);
  if (std::exchange(unloaded_, false)) {
    for (const std::string& uuid : gpus) monitor_.NoteReset(uuid);
  }
  // For those that it cannot know yet. One that is gone it must not forget: it has to tell of it.
  if (!gpus_.empty() && !std::ranges::includes(gpus_, gpus)) watcher_.Restart();
  gpus_ = std::move(gpus);
}

void HealthWatch::FollowFiles(health::Moment now) {
  if (now.mono < next_files_) return;
  next_files_ = now.mono + kTurn;
  if (auto policy = files_.NewPolicy()) {
    lease_ = files_.Lease(*policy);
    history_ = policy->history();
    monitor_.SetPolicy(*std::move(policy));
  }
  monitor_.SetVerdicts(files_.Verdicts());
  if (hardware_) files_.SayUnmatched(monitor_.unmatched_verdicts());
  if (watching_ && hardware_) LookForNodes(*hardware_, monitor_, now);
}

void HealthWatch::TakeWaiting(health::Moment now) {
  std::vector<health::Signal> signals;
  {
    const std::lock_guard lock(mutex_);
    signals.swap(waiting_);
  }
  for (const health::Signal& signal : signals) monitor_.Observe(signal, now);
}

std::vector<health::Change> HealthWatch::Conclude(health::Moment now) {
  std::vector<health::Change> changes = monitor_.Tick(now);
  auto report = std::make_shared<const std::vector<health::DeviceHealth>>(monitor_.report());
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
  made_ = now.mono;
  return changes;
}

void HealthWatch::Watch(Time until) {
  const auto seen = watcher_.Next(until);
  if (!seen) return parts_.trouble.Say(seen.error());
  if (!*seen) return;
  CountEvents(**seen, parts_.metrics);
  const health::Moment now = Now();
  if ((*seen)->vitals) monitor_.Observe(*(*seen)->vitals, now);
  for (const nvml::GpuEvent& event : (*seen)->events) monitor_.Observe(event, now);
}

void HealthWatch::Note(const Result<void>& kept) {
  if (!kept) parts_.trouble.Say(kept.error());
}

}  // namespace tessera::driver
