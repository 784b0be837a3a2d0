#include "driver/publisher.h"

#include <algorithm>
#include <random>

#include "base/log.h"
#include "base/text.h"
#include "device/slices.h"

namespace tessera::driver {
namespace {

std::chrono::milliseconds WithJitter(std::chrono::milliseconds wait) {
  thread_local std::minstd_rand random(std::random_device{}());
  return wait + wait * std::uniform_int_distribution(0, 50)(random) / 100;
}

// The features behind fields that a server drops, for a person who can switch them on.
std::string FeatureOf(std::string_view field) {
  if (field.contains(".taints")) return "DRADeviceTaints";
  if (field.contains("ounters")) return "DRAPartitionableDevices";
  if (field.contains("allowMultipleAllocations")) return "DRAConsumableCapacity";
  if (field.contains("inding")) return "DRADeviceBindingConditions";
  return "unknown";
}

bool OnlyInforms(const api::Taint& taint) { return taint.effect == "None"; }

bool HasInformingTaint(const api::Device& device) { return std::ranges::any_of(device.taints, OnlyInforms); }

}  // namespace

Publisher::Publisher(Options options, SliceStore& store, Events& events, Metrics& metrics)
    : options_(std::move(options)),
      store_(store),
      events_(events),
      metrics_(metrics),
      backoff_(options_.retry_from),
      worker_([this](const std::stop_token& stop) { Run(stop); }) {}

Publisher::~Publisher() = default;

void Publisher::SetDevices(std::vector<api::Device> devices) {
  {
    const std::lock_guard lock(mutex_);
    if (devices_ == devices) return;
    devices_ = std::move(devices);
    dirty_ = true;
    not_before_ = {};
  }
  changed_.notify_all();
}

void Publisher::SetActive(bool active) {
  {
    const std::lock_guard lock(mutex_);
    if (active_ == active) return;
    active_ = active;
    dirty_ = true;
    published_ = false;
    (*metrics_.slices_published).Set(0);
    not_before_ = {};
  }
  changed_.notify_all();
}

void Publisher::OnList(std::vector<json::Value> slices) {
  {
    const std::lock_guard lock(mutex_);
    stored_.clear();
    waiting_.clear();  // The list is newer.
    for (json::Value& slice : slices) stored_[TextAt(slice, {"metadata", "name"})] = std::move(slice);
    listed_ = true;
    dirty_ = true;
  }
  changed_.notify_all();
}

void Publisher::OnChanged(json::Value slice) {
  {
    const std::lock_guard lock(mutex_);
    Take(std::move(slice), false);
  }
  changed_.notify_all();
}

void Publisher::OnDeleted(json::Value slice) {
  {
    const std::lock_guard lock(mutex_);
    Take(std::move(slice), true);
  }
  changed_.notify_all();
}

void Publisher::Take(json::Value slice, bool deleted) {
  if (writing_) {
    waiting_.emplace_back(std::move(slice), deleted);
    return;
  }
  const std::string name = TextAt(slice, {"metadata", "name"});
  const auto known = stored_.find(name);
  if (deleted) {
    // Our own delete took it out already; a name that was made again has another UID.
    if (known == stored_.end() || TextAt(known->second, {"metadata", "uid"}) != TextAt(slice, {"metadata", "uid"}))
      return;
    NoteForeign(nullptr, "deleted");
    stored_.erase(known);
    accepted_.erase(name);
  } else {
    const bool ours = IsOurs(slice);
    if (!ours) NoteForeign(&slice, "changed");
    stored_[name] = std::move(slice);
    if (ours) return;
  }
  dirty_ = true;
  not_before_ = std::max(not_before_, Clock::now() + options_.settle);
}

// What we wrote ourselves, seen again.
bool Publisher::IsOurs(const json::Value& slice) const {
  const auto known = accepted_.find(TextAt(slice, {"metadata", "name"}));
  const json::Value* spec = slice.is_object() ? slice.get_object().if_contains("spec") : nullptr;
  return known != accepted_.end() && spec != nullptr &&
         api::Differences(known->second.stored, *spec, "spec", 1).empty();
}

void Publisher::NoteForeign(const json::Value* slice, std::string_view what) {
  if (!active_ || !published_) return;  // Before we published, whatever is there is simply what we found.
  const auto now = Clock::now();
  if (!std::exchange(disturbed_, true)) foreign_.push_back(now);
  while (!foreign_.empty() && now - foreign_.front() > options_.conflict_window) foreign_.pop_front();
  const std::string manager = slice != nullptr ? LastManager(*slice) : std::string();
  if (!manager.empty() && manager != options_.manager) foreign_manager_ = manager;
  log::Verbose(2, "A ResourceSlice of ours was touched by somebody else", {{"what", what}, {"manager", manager}});
}

bool Publisher::published() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

bool Publisher::WaitPublished(Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  const auto holds = [this] { return published_ && !dirty_ && !writing_; };
  changed_.wait_until(lock, deadline, [&] { return !active_ || holds(); });
  return active_ && holds();
}

std::optional<Error> Publisher::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Publisher::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return dirty_ && active_ && listed_ && devices_.has_value(); };
  while (changed_.wait(lock, stop, ready) && !stop.stop_requested()) {
    const auto start = std::max(not_before_, quiet_until_);
    if (Clock::now() < start) {
      changed_.wait_until(lock, stop, start, [&] { return !ready() || std::max(not_before_, quiet_until_) < start; });
    } else if (static_cast<int>(foreign_.size()) >= options_.conflict_after) {
      StopFighting();
      const Error error = *failure_;
      lock.unlock();
      log::Failure(error, "Not fighting over ResourceSlices");
      events_.Post(NodeTarget(options_.node_name), EventType::kWarning, error.code(), error.Text());
      lock.lock();
    } else {
      dirty_ = disturbed_ = false;
      writing_ = true;
      lock.unlock();
      const Result<void> synced = Sync();
      if (!synced) log::Failure(synced.error(), "Could not publish ResourceSlices", {{"node", options_.node_name}});
      lock.lock();
      NoteOutcome(synced);
      TakeWaiting();
      changed_.notify_all();  // WaitPublished().
    }
  }
}

void Publisher::StopFighting() {
  // The clock counts from the boot: a time that was never set is not long ago then.
  const bool again = conflict_wait_.count() > 0 && Clock::now() < quiet_until_ + options_.conflict_wait_to;
  conflict_wait_ = again ? std::min(conflict_wait_ * 2, options_.conflict_wait_to) : options_.conflict_wait_from;
  quiet_until_ = Clock::now() + conflict_wait_;
  published_ = false;
  (*metrics_.slices_published).Set(0);
  foreign_.clear();
  failure_ = Error(ErrorKind::kPermanentConfig, "SecondPublisher",
                   Format("{} also writes the ResourceSlices of {} on node {}",
                          foreign_manager_.empty() ? "somebody (deleting leaves no name)" : Quote(foreign_manager_),
                          device::kDriverName, options_.node_name),
                   "run one driver of this name on the node");
  (*metrics_.slice_conflict).Set(1);
}

void Publisher::NoteOutcome(const Result<void>& synced) {
  published_ = synced.has_value() && !dirty_;
  (*metrics_.slices_published).Set(published_ ? 1 : 0);
  if (synced) {
    backoff_ = options_.retry_from;
    failure_.reset();
    return (*metrics_.slice_conflict).Set(0);
  }
  dirty_ = true;
  failure_ = synced.error();
  metrics_.slice_failures.With({std::string(synced.error().code())}).Add();
  not_before_ = Clock::now() + WithJitter(backoff_);
  backoff_ = std::min(backoff_ * 2, options_.retry_to);
}

void Publisher::TakeWaiting() {
  writing_ = false;
  for (auto& [slice, deleted] : std::exchange(waiting_, {})) Take(std::move(slice), deleted);
}

std::vector<api::ResourceSlice> Publisher::Wanted(const api::OwnerReference& owner) {
  std::vector<api::Device> devices;
  bool taints_kept = true;
  {
    const std::lock_guard lock(mutex_);
    devices = *devices_;
    taints_kept = taints_kept_;
  }
  // Asked each time that it matters: a server may be upgraded while we run. When it does not say, nothing is risked.
  const bool informs =
      taints_kept && std::ranges::any_of(devices, HasInformingTaint) && store_.TakesInformingTaints().value_or(false);
  if (!informs) {
    for (api::Device& device : devices) std::erase_if(device.taints, OnlyInforms);
  }
  std::vector<std::string> withdrawn;
  if (!taints_kept) {
    for (const api::Device& device : devices) {
      if (!device.taints.empty()) withdrawn.push_back(device.name);
    }
    std::erase_if(devices, [](const api::Device& device) { return !device.taints.empty(); });
  }
  ReportWithdrawn(std::move(withdrawn));
  return device::MakeSlices(std::move(devices), {.node_name = options_.node_name, .generation = 1, .owner = owner});
}

Result<void> Publisher::Sync() {
  TESSERA_ASSIGN(const std::string version, store_.Version());
  if (!owner_) {
    TESSERA_ASSIGN(owner_, store_.Node());
  }
  std::vector<json::Value> stored;
  std::map<std::string, Accepted> accepted;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, slice] : stored_) stored.push_back(slice);
    accepted = accepted_;
  }
  const SlicePlan plan = PlanSlices(Wanted(*owner_), stored, version, accepted);
  if (plan.empty()) return {};
  TESSERA_TRY(Write(plan));
  log::Info("Published ResourceSlices", {{"node", options_.node_name},
                                         {"generation", plan.generation},
                                         {"created", plan.creates.size()},
                                         {"updated", plan.updates.size()},
                                         {"deleted", plan.deletes.size()}});
  return {};
}

Result<void> Publisher::Write(const SlicePlan& plan) {
  for (const SliceWrite& write : plan.deletes) {
    {
      const std::lock_guard lock(mutex_);  // Before the call: its event must not look like somebody else's.
      stored_.erase(write.name);
      accepted_.erase(write.name);
    }
    TESSERA_TRY(store_.Delete(write.name, write.uid, write.resource_version));
    metrics_.slice_writes.With({"delete"}).Add();
  }
  for (const SliceWrite& write : plan.updates) {
    TESSERA_ASSIGN(json::Value stored, store_.Update(write.name, write.object));
    metrics_.slice_writes.With({"update"}).Add();
    TESSERA_TRY(Keep(write.object, std::move(stored)));
  }
  for (const SliceWrite& write : plan.creates) {
    TESSERA_ASSIGN(json::Value stored, store_.Create(write.object));
    metrics_.slice_writes.With({"create"}).Add();
    TESSERA_TRY(Keep(write.object, std::move(stored)));
  }
  return {};
}

// Remembers what became of a write, and notices what was dropped from it.
Result<void> Publisher::Keep(const json::Value& wanted, json::Value stored) {
  const json::Value* spec = stored.is_object() ? stored.get_object().if_contains("spec") : nullptr;
  const std::string name = TextAt(stored, {"metadata", "name"});
  if (spec == nullptr || name.empty()) return Transient("ApiUnexpected", "the answer to a ResourceSlice is none");
  const std::vector<std::string> dropped = api::Differences(wanted.at("spec"), *spec, "spec");
  {
    const std::lock_guard lock(mutex_);
    accepted_[name] = {wanted.at("spec"), *spec};
    stored_[name] = std::move(stored);
    if (taints_kept_ && std::ranges::any_of(dropped, [](const std::string& f) { return f.contains(".taints"); })) {
      taints_kept_ = false;  // The next pass withdraws the devices instead.
      dirty_ = true;
    }
  }
  ReportDropped(dropped);
  return {};
}

void Publisher::ReportWithdrawn(std::vector<std::string> devices) {
  if (devices == withdrawn_) return;
  withdrawn_ = std::move(devices);
  if (withdrawn_.empty()) return log::Info("No device is withdrawn any more");
  log::Warning("Devices are withdrawn from the ResourceSlices, because the API server does not keep taints",
               {{"devices", Join(withdrawn_, ", ")}});
}

void Publisher::ReportDropped(const std::vector<std::string>& fields) {
  (*metrics_.dropped_fields).Set(static_cast<double>(fields.size()));
  if (fields.empty() || fields == reported_dropped_) return;
  reported_dropped_ = fields;
  const std::string text = Format("the API server does not keep {}; the feature gate {} is probably off there",
                                  Join(fields, ", "), FeatureOf(fields.front()));
  log::Warning("Fields of a ResourceSlice were dropped", {{"fields", Join(fields, ", ")}});
  events_.Post(NodeTarget(options_.node_name), EventType::kWarning, "SliceFieldsDropped", text);
}

}  // namespace tessera::driver
