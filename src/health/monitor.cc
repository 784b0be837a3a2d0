#include "health/monitor.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "device/pci.h"

namespace tessera::health {
namespace {

// Whether a reason about `where` is one of the device's. Where no instance is named it reaches all of the GPU; where
// one is named but the GPU is offered whole, it is the GPU's.
bool Reaches(const Place& where, const Place& device) {
  if (where.uuid != device.uuid) return false;
  if (!where.gpu_instance || !device.gpu_instance) return true;
  if (where.gpu_instance != device.gpu_instance) return false;
  return !where.compute_instance || where.compute_instance == device.compute_instance;
}

bool IsXid(const ReasonKey& key) { return key.kind == Kind::kXid; }

}  // namespace

Monitor::Gpu* Monitor::FindOrAdd(const std::string& uuid, Moment now) {
  if (uuid.empty()) return nullptr;
  const auto found = gpus_.find(uuid);
  if (found != gpus_.end()) return &found->second;
  if (gpus_.size() >= kMaxGpus) return nullptr;
  Gpu& gpu = gpus_[uuid];
  gpu.last_heard = now.mono;
  return &gpu;
}

Rule Monitor::RuleOf(const Gpu& gpu, const ReasonKey& key) const {
  if (!IsXid(key)) return policy_.RuleFor(key.kind, gpu.product);
  return policy_.XidRule(ParseNumber<std::uint64_t>(key.detail).value_or(0), gpu.product);
}

void Monitor::SetDevices(const device::Snapshot& snapshot, Moment now) {
  std::set<std::string> uuids, names;
  std::vector<Device> devices;
  for (const device::Device& device : snapshot.devices) {
    Device& added = devices.emplace_back();
    added.name = device.name;
    added.place.uuid = device.gpu.uuid;
    if (device.mig) {
      added.place.gpu_instance = device.mig->gpu_instance;
      added.place.compute_instance = device.mig->compute_instance;
    }
    added.uuid = device.mig ? device.mig->uuid : device.gpu.uuid;
    added.index = device.gpu.index;
    added.bus_id = device.gpu.bus_id;
    uuids.insert(device.gpu.uuid);
    names.insert(device.name);
    if (Gpu* gpu = FindOrAdd(device.gpu.uuid, now)) {
      if (!gpu->in_snapshot) gpu->last_heard = now.mono;
      gpu->product = device.gpu.product_name;
    }
  }
  for (auto& [uuid, gpu] : gpus_) gpu.in_snapshot = uuids.contains(uuid);
  for (Device& old : devices_) {
    // A MIG device that is gone while its GPU is there was destroyed; a GPU that is gone may come back.
    if (names.contains(old.name) || uuids.contains(old.place.uuid)) continue;
    old.in_snapshot = false;
    devices.push_back(std::move(old));
  }
  devices_ = std::move(devices);
  DropDestroyedInstances();
}

// The MIG devices that a reason about this instance is about, by UUID.
std::vector<std::string> Monitor::InstancesAt(const Place& place) const {
  std::vector<std::string> uuids;
  for (const Device& device : devices_) {
    const bool is_mig = place.gpu_instance && device.place.gpu_instance;
    if (is_mig && Reaches(place, device.place)) uuids.push_back(device.uuid);
  }
  return uuids;
}

// An instance that was made anew has nothing to do with what its number did before.
void Monitor::DropDestroyedInstances() {
  for (auto& [uuid, gpu] : gpus_) {
    for (auto entry = gpu.reasons.begin(); entry != gpu.reasons.end();) {
      auto& [key, reason] = *entry;
      std::vector<std::string> now = InstancesAt(key.place);
      const bool destroyed =
          !now.empty() && !reason.mig_uuids.empty() && std::ranges::find_first_of(now, reason.mig_uuids) == now.end();
      if (reason.mig_uuids.empty()) reason.mig_uuids = std::move(now);
      entry = destroyed ? gpu.reasons.erase(entry) : std::next(entry);
    }
  }
}

void Monitor::SetPolicy(Policy policy) {
  policy_ = std::move(policy);
  for (auto& [uuid, gpu] : gpus_) {
    for (auto& [key, reason] : gpu.reasons) {
      const Rule rule = RuleOf(gpu, key);
      if (rule.proof != Proof::kGone) reason.severity = rule.severity;  // Conditions are judged again at the next look.
    }
  }
}

// ---- What is fed.

void Monitor::Observe(const nvml::MachineVitals& vitals, Moment now) {
  // Another driver was loaded, and that resets every GPU.
  const bool reloaded = !driver_version_.empty() && driver_version_ != vitals.driver_version;
  if (!vitals.driver_version.empty()) driver_version_ = vitals.driver_version;
  for (const nvml::GpuVitals& each : vitals.gpus) {
    Gpu* gpu = FindOrAdd(each.uuid, now);
    if (gpu == nullptr) continue;
    const auto last_look = std::exchange(gpu->last_heard, now.mono);
    gpu->looked = now.wall;
    Look look = LookAt(each, policy_, gpu->product, now, gpu->trail);
    look.reset |= reloaded && !vitals.driver_version.empty();
    if (look.answered) gpu->serves_advice = look.advice.has_value();
    for (const Signal& signal : look.signals) {
      // The GPU's counter grew for an error that NVML has given to an instance: it stays there.
      if (signal.kind == Kind::kEccUncorrected && BlamesInstance(*gpu, last_look)) continue;
      See(*gpu, signal, now);
    }
    if (look.answered) Prove(*gpu, look, now);
  }
}

// Whether an instance of the GPU had a memory error since then.
bool Monitor::BlamesInstance(const Gpu& gpu, std::chrono::steady_clock::time_point since) const {
  return std::ranges::any_of(gpu.reasons, [&](const auto& entry) {
    const auto& [key, reason] = entry;
    return key.place.gpu_instance && ClassOf(key) == Class::kMemory && reason.bad_seen >= since;
  });
}

bool Monitor::Observe(const nvml::GpuEvent& event, Moment now) {
  if (event.uuid.empty()) return false;
  if (const auto signal = SignalOf(event)) Observe(*signal, now);
  return true;
}

void Monitor::Observe(const Signal& signal, Moment now) {
  if (Gpu* gpu = FindOrAdd(signal.place.uuid, now)) See(*gpu, signal, now);
}

void Monitor::See(Gpu& gpu, const Signal& signal, Moment now) {
  const ReasonKey key{signal.kind, signal.place, signal.detail};
  const auto found = gpu.reasons.find(key);
  if (signal.sight == Sight::kAbsent) {
    if (found != gpu.reasons.end()) SeeGood(found->second, now);
    return;
  }
  const Rule rule = RuleOf(gpu, key);
  if (rule.severity == Severity::kNone) return;
  // The vitals are read right after an Xid: where they hold the driver's own advice, it is worth the wait.
  const bool waits =
      IsXid(key) && gpu.serves_advice && rule.proof == Proof::kReset && !rule.pinned && rule.severity < Severity::kLost;
  if (found != gpu.reasons.end()) return SeeBad(found->second, signal, rule, waits, now);
  Reason reason;
  SeeBad(reason, signal, rule, waits, now);
  reason.mig_uuids = InstancesAt(key.place);
  Add(gpu, key, std::move(reason));
}

void Monitor::Add(Gpu& gpu, const ReasonKey& key, Reason reason) {
  if (gpu.reasons.size() >= kMaxReasonsPerGpu) {
    const auto rank = [](const auto& entry) { return std::tuple(Effective(entry.second), entry.second.severity); };
    const auto mildest = std::ranges::min_element(gpu.reasons, {}, rank);
    if (mildest->second.severity >= reason.severity) return;
    gpu.reasons.erase(mildest);
  }
  gpu.reasons.emplace(key, std::move(reason));
}

void Monitor::Prove(Gpu& gpu, const Look& look, Moment now) {
  for (auto& [key, reason] : gpu.reasons) {
    const Rule rule = RuleOf(gpu, key);
    if (rule.proof == Proof::kGone) continue;
    if (rule.proof == Proof::kReset && look.advice) SeeAdvice(reason, rule, *look.advice, now);
    // What is seen in the same look as the reset came with it or after it.
    if (look.reset && reason.bad_seen < now.mono) reason.reset_seen = true;
    const bool quiet = rule.proof == Proof::kQuiet && now.mono - reason.bad_seen >= rule.quiet;
    const bool advised_against = look.advice.value_or(Severity::kNone) != Severity::kNone && !rule.pinned;
    if (quiet || (reason.reset_seen && !advised_against)) SeeGood(reason, now);
  }
}

void Monitor::NoteReset(std::string_view uuid) {
  const auto gpu = gpus_.find(uuid);
  if (gpu == gpus_.end()) return;
  for (auto& [key, reason] : gpu->second.reasons) reason.reset_seen = true;
}

// ---- Verdicts.

const Monitor::Device* Monitor::Resolve(const Verdict& verdict) const {
  const auto index = ParseNumber<unsigned>(verdict.device);
  const std::string bus_id = device::LinuxBusId(verdict.device);
  for (const Device& device : devices_) {
    if (verdict.device == device.uuid || verdict.device == device.name) return &device;
  }
  for (const Device& device : devices_) {
    const bool same_bus_id = !bus_id.empty() && bus_id == device.bus_id;
    if (verdict.device == device.place.uuid || (index && *index == device.index) || same_bus_id) return &device;
  }
  return nullptr;
}

void Monitor::ApplyVerdicts(Moment now) {
  unmatched_.clear();
  std::set<ReasonKey> standing;
  for (const Verdict& verdict : verdicts_) {
    if (verdict.expires && *verdict.expires <= now.wall) continue;
    const Device* device = Resolve(verdict);
    if (device == nullptr) {
      unmatched_.push_back(verdict.file);
      continue;
    }
    if (verdict.severity == Severity::kNone) {
      // A file from the future would outweigh whatever comes until then.
      if (verdict.written <= now.wall) Repaired(verdict, *device);
      continue;
    }
    // An instance is meant only where it is named itself.
    const bool itself = verdict.device == device->uuid || verdict.device == device->name;
    const Place place = itself ? device->place : Place{device->place.uuid, {}, {}};
    const std::string source = verdict.source.empty() ? verdict.file : verdict.source;
    Signal signal{.kind = Kind::kVerdict,
                  .place = place,
                  .detail = verdict.file,
                  .sight = Sight::kPresent,
                  .found = Format("{} says {}: {}", source, ToText(verdict.severity), verdict.reason),
                  .severity = verdict.severity};
    standing.insert({signal.kind, signal.place, signal.detail});
    Observe(signal, now);
  }
  for (auto& [uuid, gpu] : gpus_) {
    for (auto& [key, reason] : gpu.reasons) {
      if (key.kind == Kind::kVerdict && !standing.contains(key)) SeeGood(reason, now);
    }
  }
}

// The next look that finds nothing against it completes the proof.
void Monitor::Repaired(const Verdict& verdict, const Device& device) {
  const auto gpu = gpus_.find(device.place.uuid);
  if (gpu == gpus_.end()) return;
  const bool instance = device.place.gpu_instance && (verdict.device == device.uuid || verdict.device == device.name);
  for (auto& [key, reason] : gpu->second.reasons) {
    const bool meant = !instance || (key.place.gpu_instance && Reaches(key.place, device.place));
    if (meant && reason.last_seen < verdict.written) reason.reset_seen = true;
  }
}

// ---- Time.

void Monitor::NoticeSilence(Moment now) {
  for (auto& [uuid, gpu] : gpus_) {
    if (!gpu.in_snapshot) continue;
    const bool stale = now.mono - gpu.last_heard > policy_.stale_after();
    See(gpu,
        {.kind = Kind::kUnmonitored,
         .place = {uuid, {}, {}},
         .sight = stale ? Sight::kPresent : Sight::kAbsent,
         .found = Format("for more than {}", ToText(Span{policy_.stale_after()}))},
        now);
  }
}

void Monitor::Forget(Moment now) {
  std::erase_if(gpus_, [&](const auto& entry) {
    return !entry.second.in_snapshot && now.mono - entry.second.last_heard > kForgetAfter;
  });
  std::erase_if(devices_, [&](const Device& d) { return !d.in_snapshot && !gpus_.contains(d.place.uuid); });
  for (auto& [uuid, gpu] : gpus_) {
    std::erase_if(gpu.reasons, [&](const auto& entry) {
      const auto& [key, reason] = entry;
      const Rule rule = RuleOf(gpu, key);
      return rule.severity == Severity::kNone || IsOver(reason, rule) || IsStale(reason, rule, now);
    });
  }
}

// Confirmed reasons stand, unless a polled one would take too many GPUs at once: then it is rather one cause outside of
// them. What stands already is never let go for that.
void Monitor::Stand(Moment now) {
  struct Wish {
    std::set<std::string_view> gpus;
    std::vector<Reason*> reasons;
  };
  std::map<Kind, Wish> polled;
  for (auto& [uuid, gpu] : gpus_) {
    for (auto& [key, reason] : gpu.reasons) {
      const bool brakes =
          Catalogue::Get().Reason(key.kind).source == Source::kPoll && reason.severity >= Severity::kUnusable;
      const bool wants = reason.phase == Phase::kSuspect && IsConfirmed(reason, RuleOf(gpu, key), now);
      if (!wants) reason.held = false;
      if (brakes && (wants || reason.phase != Phase::kSuspect)) polled[key.kind].gpus.insert(uuid);
      if (brakes && wants) polled[key.kind].reasons.push_back(&reason);
      if (wants && !brakes) reason.phase = Phase::kStanding;
    }
  }
  for (auto& [kind, wish] : polled) {
    const bool hold = policy_.Brakes(wish.gpus.size(), gpus_.size());
    for (Reason* reason : wish.reasons) {
      reason->held = hold;
      if (!hold) reason->phase = Phase::kStanding;
    }
  }
}

std::string Monitor::BrakeText(Kind kind) const {
  std::size_t hit = 0;
  for (const auto& [uuid, gpu] : gpus_) {
    hit += std::ranges::any_of(gpu.reasons, [&](const auto& entry) { return entry.first.kind == kind; }) ? 1U : 0U;
  }
  return Format("{} of {} GPUs show it at once, which points to one cause outside of them", hit, gpus_.size());
}

DeviceHealth Monitor::ReportOf(const Device& device) const {
  std::vector<ReasonReport> reasons;
  const auto found = gpus_.find(device.place.uuid);
  const Gpu* gpu = found == gpus_.end() ? nullptr : &found->second;
  if (gpu != nullptr) {
    for (const auto& [key, reason] : gpu->reasons) {
      if (!Reaches(key.place, device.place)) continue;
      const std::string brake = reason.held ? BrakeText(key.kind) : std::string();
      reasons.push_back(MakeReasonReport(key, reason, RuleOf(*gpu, key), brake));
    }
  }
  DeviceHealth health =
      MakeDeviceHealth(std::move(reasons), gpu != nullptr && gpu->looked.has_value(), policy_.isolation());
  health.device = device.name;
  health.uuid = device.uuid;
  health.gpu_uuid = device.place.uuid;
  if (gpu != nullptr) health.looked = gpu->looked;
  return health;
}

std::vector<Change> Monitor::Tick(Moment now) {
  ApplyVerdicts(now);
  NoticeSilence(now);
  Forget(now);
  Stand(now);

  std::vector<Change> changes;
  std::vector<DeviceHealth> report;
  for (const Device& device : devices_) {
    DeviceHealth health = ReportOf(device);
    if (!device.in_snapshot && health.reasons.empty()) continue;
    const DeviceHealth* before = Find(device.name);
    const bool same_state = before != nullptr && before->state == health.state;
    health.since = same_state ? before->since : now.wall;
    if (before == nullptr || !SameToOthers(*before, health)) {
      changes.push_back({device.name, before == nullptr ? State::kHealthy : before->state, health.state});
    }
    report.push_back(std::move(health));
  }
  report_ = std::move(report);
  return changes;
}

const DeviceHealth* Monitor::Find(std::string_view device) const {
  const auto found = std::ranges::find(report_, device, &DeviceHealth::device);
  return found == report_.end() ? nullptr : &*found;
}

}  // namespace tessera::health
