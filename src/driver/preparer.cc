#include "driver/preparer.h"

#include <algorithm>
#include <latch>
#include <set>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/side_job.h"
#include "base/text.h"
#include "device/slices.h"
#include "driver/claim_faults.h"
#include "driver/claim_plan.h"
#include "driver/local_runs.h"

namespace tessera::driver {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kKubeletTimeout{1'000};
constexpr std::chrono::milliseconds kRecheckTimeout{2'000};
constexpr std::size_t kMaxFailing = 1'024;

// The API server's answers about a claim, in the words of a Prepare.
Error ClaimError(Error error, const api::ClaimRef& claim) {
  if (error.code() == "ApiNotFound") {
    return {ErrorKind::kPermanentConfig, "ClaimNotFound", Format("claim {} does not exist", api::ToText(claim)),
            "it was deleted while its pod was starting; delete the pod"};
  }
  return std::move(error).Wrap(Format("reading claim {}", api::ToText(claim)));
}

// Whether these are exactly the record's devices. A claim that is not allocated (any more) has none.
bool IsAllocation(const api::ResourceClaim& claim, const api::PreparedClaim& record) {
  if (claim.ref.uid != record.claim.uid || !claim.allocation) return false;
  std::set<std::string> allocated;
  std::set<std::string> prepared;
  for (const api::AllocationResult& result : claim.allocation->results) {
    if (result.driver == device::kDriverName) allocated.insert(result.pool + "/" + result.device);
  }
  for (const api::PreparedDevice& device : record.devices) prepared.insert(device.pool + "/" + device.name);
  return allocated == prepared;
}

// Whether the record can stand for the claim. What the Go driver had only started it may not have given devices yet.
bool SaysAll(const api::PreparedClaim& record) {
  return record.state == api::ClaimState::kCompleted || (record.origin != "go" && !record.devices.empty());
}

bool AnyGone(const api::PreparedClaim& record, const HardwareState& hardware) {
  return std::ranges::any_of(record.devices, [&](const api::PreparedDevice& device) {
    return FindHardware(hardware, device.hardware) == nullptr;
  });
}

bool HoldsDevice(const api::ResourceClaim& claim, const api::PreparedClaim& record) {
  if (claim.ref.uid != record.claim.uid || !claim.allocation) return false;
  return std::ranges::any_of(claim.allocation->results, [&](const api::AllocationResult& result) {
    return std::ranges::any_of(record.devices, [&](const api::PreparedDevice& device) {
      return device.name == result.device && device.pool == result.pool;
    });
  });
}

kubelet::ClaimAnswer TooBusy(const api::ClaimRef& claim) {
  return {claim.uid,
          {},
          Error(ErrorKind::kTransient, "TooBusy", "too many calls are waiting",
                "the kubelet tries again; see tessera_requests_in_flight")};
}

Error NotOurUid() {
  return {ErrorKind::kPermanentConfig, "BadClaimUid", "the claim's UID is not one", "this is a bug of whoever called"};
}

}  // namespace

std::string ClaimLease(const std::string& uid) { return "claim/" + uid; }
std::string GpuLease(const std::string& uuid) { return "gpu/" + uuid; }

// The answers of one call's claims, handed over when the last is there.
class Preparer::Batch {
 public:
  Batch(std::vector<api::ClaimRef> claims, kubelet::Done done)
      : claims_(std::move(claims)), answers_(claims_.size()), left_(claims_.size()), done_(std::move(done)) {}

  void Set(std::size_t index, kubelet::ClaimAnswer answer) {
    answers_[index] = std::move(answer);  // Each index is set once; the counter below orders it before the hand-over.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    NameEachOther(claims_, answers_);
    done_(std::move(answers_), {});
  }

 private:
  const std::vector<api::ClaimRef> claims_;
  kubelet::Answers answers_;
  std::atomic<std::size_t> left_;
  kubelet::Done done_;
};

kubelet::ClaimAnswer Preparer::AnswerOf(const api::ClaimRef& claim, const Result<Ready>& ready) {
  if (!ready) return {claim.uid, {}, ready.error()};
  return {claim.uid, ready->devices, std::nullopt};
}

Preparer::Preparer(Options options, Parts parts) : options_(std::move(options)), parts_(parts) {}
Preparer::~Preparer() = default;

void Preparer::Prepare(std::vector<api::ClaimRef> claims, kubelet::Deadline deadline, kubelet::Done done) {
  if (claims.empty()) return done({}, {});
  if (options_.use_callers_thread && claims.size() == 1 && !has_callers_thread_.exchange(true)) {
    PrepareHere(claims.front(), deadline, done);
    has_callers_thread_ = false;
    return;
  }
  const auto batch = std::make_shared<Batch>(claims, std::move(done));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const bool taken = prepares_.Submit([this, claim = claims[i], deadline, batch, i] {
      const auto ready = MakeReady(claim, deadline);
      batch->Set(i, AnswerOf(claim, ready));
      if (ready) Finish(*ready);
    });
    if (!taken) batch->Set(i, TooBusy(claims[i]));
  }
}

// gRPC sends the answer when its thread is back, so that the bookkeeping must come after it.
void Preparer::PrepareHere(const api::ClaimRef& claim, kubelet::Deadline deadline, const kubelet::Done& done) {
  auto ready = std::make_shared<const Result<Ready>>(MakeReady(claim, deadline));
  kubelet::Answers answers{AnswerOf(claim, *ready)};
  if (!*ready) return done(std::move(answers), {});
  done(std::move(answers), [this, ready = std::move(ready)] { Finish(**ready); });
}

void Preparer::Unprepare(std::vector<api::ClaimRef> claims, kubelet::Deadline deadline, kubelet::Done done) {
  if (claims.empty()) return done({}, {});
  const auto batch = std::make_shared<Batch>(claims, std::move(done));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const bool taken = unprepares_.Submit([this, claim = claims[i], deadline, batch, i] {
      const auto undone = UnprepareOne(claim, deadline);
      batch->Set(i, {claim.uid, {}, undone ? std::nullopt : std::optional(undone.error())});
    });
    if (!taken) batch->Set(i, TooBusy(claims[i]));
  }
}

Result<std::vector<api::PreparedDevice>> Preparer::PrepareOne(const api::ClaimRef& claim, kubelet::Deadline deadline) {
  TESSERA_ASSIGN(const Ready ready, MakeReady(claim, deadline));
  Finish(ready);
  return ready.devices;
}

Result<Preparer::Ready> Preparer::MakeReady(const api::ClaimRef& claim, kubelet::Deadline deadline) {
  PhaseTimer timer(parts_.metrics, Method::kPrepare);
  parts_.metrics.Started(Method::kPrepare);
  auto ready = MakeReady(claim, deadline, timer);
  if (!ready) ready.error() = WithNextStep(ready.error());
  const Error* error = ready ? nullptr : &ready.error();
  parts_.metrics.Finished(Method::kPrepare, timer.total(), error);
  if (error != nullptr) Report(claim, Method::kPrepare, error);
  return ready;
}

void Preparer::Finish(const Ready& ready) {
  if (ready.is_new) {
    // Should this fail, or should we die before it: reconciling does it.
    if (auto noted = parts_.journal.Complete(ready.claim.uid); !noted) {
      log::Failure(noted.error(), "Could not note that a claim is prepared", {{"uid", ready.claim.uid}});
    }
    if (on_change) on_change();
  }
  Report(ready.claim, Method::kPrepare, nullptr);
  log::Info("Prepared claim",
            {{"claim", api::ToText(ready.claim)}, {"uid", ready.claim.uid}, {"devices", ready.devices.size()}});
}

Result<Preparer::Ready> Preparer::MakeReady(const api::ClaimRef& claim, kubelet::Deadline deadline, PhaseTimer& timer) {
  if (!api::IsClaimUid(claim.uid)) return std::unexpected(NotOurUid());
  TESSERA_ASSIGN(journal::Lease lease, parts_.leases.Acquire({ClaimLease(claim.uid)}, deadline));
  Ready ready{.claim = claim, .devices = {}, .is_new = false, .lease = std::move(lease), .gpus = std::nullopt};
  timer.Mark(Phase::kLock);
  TESSERA_TRY(parts_.journal.Refresh());
  if (const journal::ClaimPtr record = parts_.journal.Find(claim.uid); record && SaysAll(*record)) {
    TESSERA_ASSIGN(const bool same, StillAllocated(*record, deadline, timer));
    if (same) {
      TESSERA_TRY(Confirm(ready, record, deadline, timer));
      return ready;
    }
    TESSERA_TRY(Undo(claim.uid, "it was given other devices"));
  }
  TESSERA_ASSIGN(Wanted wanted, Read(claim, deadline, timer));
  const auto& allocation = wanted.claim.allocation;
  const auto question = [&] {
    return allocation ? QuestionOf(*allocation, *wanted.hardware, health_words_) : std::string("not allocated");
  };
  TESSERA_TRY(OnlyOnce(question, [&] { return Make(ready, wanted, deadline, timer); }));
  return ready;
}

Result<void> Preparer::OnlyOnce(const std::function<std::string()>& question,
                                const std::function<Result<void>()>& attempt) {
  if (!refusals_.empty()) {
    if (auto known = refusals_.Find(question())) {
      (*parts_.metrics.refused_again).Add();
      return std::unexpected(*std::move(known));
    }
  }
  Result<void> made = attempt();
  // Asked anew: the attempt may have looked at the hardware again, and told health.
  if (!made && FailsForGood(made.error())) refusals_.Add(question(), made.error());
  return made;
}

Result<void> Preparer::Make(Ready& ready, Wanted& wanted, kubelet::Deadline deadline, PhaseTimer& timer) {
  TESSERA_ASSIGN(api::PreparedClaim plan, Plan(wanted, deadline, timer));
  TESSERA_TRY(RefuseLost(plan));
  if (options_.run) GiveToRun(plan, *options_.run);
  std::vector<std::string> names = GpusOf(plan);
  std::ranges::transform(names, names.begin(), GpuLease);
  TESSERA_ASSIGN(ready.gpus, parts_.leases.Acquire(std::move(names), deadline));
  timer.Mark(Phase::kLock);
  TESSERA_TRY(parts_.journal.Refresh());
  TESSERA_TRY(Guard(plan, deadline));
  timer.Mark(Phase::kValidate);
  ready.devices = plan.devices;
  ready.is_new = true;
  const auto committed = Commit(std::move(plan), *wanted.hardware, timer);
  if (committed || committed.error().kind() != ErrorKind::kPermanentDevice) return committed;
  // Nobody was given anything. So the claim holds nothing either, and a repeat has nothing to finish on disk.
  const journal::ClaimPtr record = parts_.journal.Find(ready.claim.uid);
  std::vector<DeviceFault> faults;
  if (record) faults = FindDeviceFaults(*record, *wanted.hardware);
  TESSERA_TRY(Undo(ready.claim.uid, "its device cannot be used"));
  return std::unexpected(Blame(std::move(faults), committed.error(), deadline));
}

// Monitoring, which has admin access, may look at a lost GPU.
Result<void> Preparer::RefuseLost(const api::PreparedClaim& plan) const {
  ClaimFaults faults;
  for (const api::PreparedDevice& device : plan.devices) {
    if (device.admin_access) continue;
    if (const auto lost = parts_.faults.Lost(device.name)) faults.Add(device, *lost);
  }
  if (faults.empty()) return {};
  return std::unexpected(faults.AsError());
}

Error Preparer::Blame(std::vector<DeviceFault> faults, const Error& error, kubelet::Deadline deadline) {
  if (faults.empty()) return error;
  ClaimFaults all;
  for (const DeviceFault& fault : parts_.faults.Tell(std::move(faults), deadline)) all.Add(fault.device, fault.error);
  return all.AsError();
}

// Whether the claim's devices are those of the record. The API server is asked once, briefly: while it is away the
// record is believed. A claim can be freed and allocated anew, under the same UID, while nobody could tell us.
Result<bool> Preparer::StillAllocated(const api::PreparedClaim& record, kubelet::Deadline deadline, PhaseTimer& timer) {
  if (record.claim.name.empty()) return true;
  const auto brief = std::min(deadline, steady_clock::now() + kRecheckTimeout);
  const auto claim = parts_.claims.Get(record.claim, brief, ClaimSource::Urgency::kOnce);
  timer.Mark(Phase::kApiGet, claim.has_value());
  if (!claim) {
    if (claim.error().kind() == ErrorKind::kTransient) return true;
    return std::unexpected(ClaimError(claim.error(), record.claim));
  }
  return IsAllocation(*claim, record);
}

// The claim is prepared already: is all that was recorded still true? After a reboot, and when whoever began it died or
// failed, everything is set up again.
Result<void> Preparer::Confirm(Ready& ready, const journal::ClaimPtr& record, kubelet::Deadline deadline,
                               PhaseTimer& timer) {
  const auto wait = std::min(deadline, steady_clock::now() + options_.hardware_wait);
  TESSERA_ASSIGN(auto hardware, parts_.hardware.WaitForState(wait));
  const auto set_up = [&]() -> Result<void> {
    if (AnyGone(*record, *hardware)) {
      TESSERA_ASSIGN(hardware, parts_.hardware.WaitForRescan(wait));
      TESSERA_TRY(RefuseGone(*record, *hardware, deadline));
    }
    timer.Mark(Phase::kValidate);
    return SetUpAgain(ready, *record, *hardware, deadline, timer);
  };
  TESSERA_TRY(OnlyOnce([&] { return QuestionOf(*record, *hardware, health_words_); }, set_up));
  ready.devices = record->devices;
  return {};
}

Result<void> Preparer::SetUpAgain(Ready& ready, const api::PreparedClaim& record, const HardwareState& hardware,
                                  kubelet::Deadline deadline, PhaseTimer& timer) {
  Result<void> made;
  if (record.boot_id != options_.boot_id || record.state != api::ClaimState::kCompleted) {
    api::PreparedClaim again = record;
    again.boot_id = options_.boot_id;
    made = Commit(std::move(again), hardware, timer);
    ready.is_new = made.has_value();
  } else {
    const auto ensured = parts_.files.Ensure(record, hardware);
    timer.Mark(Phase::kCdi, ensured.has_value());
    if (!ensured) made = std::unexpected(ensured.error());
  }
  if (made || made.error().kind() != ErrorKind::kPermanentDevice) return made;
  return std::unexpected(Blame(FindDeviceFaults(record, hardware), made.error(), deadline));
}

// A GPU that is gone is health's matter as well. A MIG device may be gone while its GPU is well: somebody destroyed it.
Result<void> Preparer::RefuseGone(const api::PreparedClaim& record, const HardwareState& hardware,
                                  kubelet::Deadline deadline) {
  std::vector<DeviceFault> lost;
  ClaimFaults faults;
  for (const api::PreparedDevice& device : record.devices) {
    if (FindHardware(hardware, device.hardware) != nullptr) continue;
    const std::string& gpu = device.hardware.gpu_uuid;
    Error error(ErrorKind::kPermanentDevice, "DeviceLost",
                Format("device {} ({}) of the prepared claim does not answer any more", device.name, gpu),
                "see `tessera devices` on the node; the pod needs another device");
    if (std::ranges::any_of(hardware.snapshot->devices, [&](const auto& other) { return other.gpu.uuid == gpu; })) {
      faults.Add(device, error);
    } else {
      lost.push_back({device, std::move(error)});
    }
  }
  if (lost.empty() && faults.empty()) return {};
  if (!lost.empty()) {
    for (const DeviceFault& fault : parts_.faults.Tell(std::move(lost), deadline))
      faults.Add(fault.device, fault.error);
  }
  return std::unexpected(faults.AsError());
}

Result<Preparer::Wanted> Preparer::Read(const api::ClaimRef& ref, kubelet::Deadline deadline, PhaseTimer& timer) {
  auto claim = parts_.claims.Get(ref, deadline, ClaimSource::Urgency::kPodWaits);
  timer.Mark(Phase::kApiGet, claim.has_value());
  if (!claim) return std::unexpected(ClaimError(std::move(claim).error(), ref));
  if (claim->ref.uid != ref.uid) {
    return BadConfig(
        "ClaimReplaced",
        Format("claim {} was replaced: its UID is {}, asked for was {}", api::ToText(ref), claim->ref.uid, ref.uid),
        "delete the pod: it belongs to a claim that is gone");
  }
  const auto wait = std::min(deadline, steady_clock::now() + options_.hardware_wait);
  TESSERA_ASSIGN(auto hardware, parts_.hardware.WaitForState(wait));
  return Wanted{*std::move(claim), std::move(hardware)};
}

Result<api::PreparedClaim> Preparer::Plan(Wanted& wanted, kubelet::Deadline deadline, PhaseTimer& timer) {
  const auto plan_now = [&] { return PlanClaim(wanted.claim, *wanted.hardware, options_.node_name, options_.boot_id); };
  auto plan = plan_now();
  if (!plan && plan.error().code() == "DeviceNotFound") {
    const auto wait = std::min(deadline, steady_clock::now() + options_.hardware_wait);
    TESSERA_ASSIGN(wanted.hardware, parts_.hardware.WaitForRescan(wait));
    plan = plan_now();
  }
  timer.Mark(Phase::kValidate, plan.has_value());
  return plan;
}

Result<void> Preparer::Guard(const api::PreparedClaim& plan, kubelet::Deadline deadline) {
  std::vector<journal::ClaimPtr> others;
  for (const std::string& gpu : GpusOf(plan)) {
    const auto holders = parts_.journal.HoldersOf(gpu);
    others.insert(others.end(), holders.begin(), holders.end());
  }
  // Claims whose hardware was not known when they were adopted.
  const auto hardware = parts_.hardware.state();
  for (const journal::ClaimPtr& unknown : parts_.journal.HoldersOf("")) {
    auto identified = hardware ? Identify(*unknown, *hardware) : std::nullopt;
    if (identified) others.push_back(std::make_shared<const api::PreparedClaim>(*std::move(identified)));
  }
  ClaimFaults faults;
  for (const Conflict& conflict : FindConflicts(plan, others)) {
    if (RemoveGhost(*conflict.other, deadline)) continue;
    faults.Add(
        Error(ErrorKind::kTransient, "DeviceInUse", ToText(conflict), "it is free again when that pod has ended"));
  }
  for (const api::PreparedDevice& device : plan.devices) {
    if (device.admin_access) continue;
    const auto holder = parts_.foreign.HolderOf(device.hardware, kKubeletTimeout);
    if (!holder) continue;
    faults.Add(Error(ErrorKind::kTransient, "DeviceHeldByDevicePlugin",
                     Format("{} is held by pod {} through {}", device.name, holder->pod, holder->resource),
                     "keep GPUs of the device plugin away from this driver with --exclude-devices"));
  }
  if (!faults.empty()) return std::unexpected(faults.AsError());
  return {};
}

bool Preparer::RemoveGhost(const api::PreparedClaim& other, kubelet::Deadline deadline) {
  auto lease = parts_.leases.TryAcquire(ClaimLease(other.claim.uid));
  if (!lease || !lease->has_value()) return false;  // Somebody works on it, so it is none.
  if (other.run) return HasEnded(other, parts_.leases) && Undo(other.claim.uid, "its run has ended").has_value();
  if (!other.claim.name.empty()) {
    const auto brief = std::min(deadline, steady_clock::now() + kRecheckTimeout);
    const auto claim = parts_.claims.Get(other.claim, brief, ClaimSource::Urgency::kOnce);
    if (claim ? HoldsDevice(*claim, other) : claim.error().code() != "ApiNotFound") return false;
  }
  const auto pods = parts_.foreign.Refresh(kKubeletTimeout);
  const auto used = pods ? ClaimedCdiIds(*pods) : std::nullopt;
  if (!used && other.claim.name.empty()) return false;  // Nobody can tell.
  for (const api::PreparedDevice& device : other.devices) {
    if (used && !device.cdi_ids.empty() && std::ranges::find(*used, device.cdi_ids.front()) != used->end())
      return false;
  }
  return Undo(other.claim.uid, "freed in the API, used by no pod, and in the way of another claim").has_value();
}

// From here on a crash leaves a record that says what to finish or undo. The CDI file is written while the disk works:
// a power loss takes both, or leaves a file that brings the record back (Reconciler::RestoreLost).
Result<void> Preparer::Commit(api::PreparedClaim plan, const HardwareState& hardware, PhaseTimer& timer) {
  plan.state = api::ClaimState::kStarted;
  std::latch intended(1);  // Until then the other thread wakes up.
  bool may_write = false;
  Result<bool> written = false;
  SideJob files(prepares_, [&] {
    intended.wait();
    if (may_write) written = parts_.files.Ensure(plan, hardware);
  });
  const auto intent = parts_.journal.BeginStart(plan);
  may_write = intent.has_value();
  intended.count_down();
  if (!intent) return std::unexpected(intent.error());
  auto durable = parts_.journal.EndStart(*intent);
  timer.Mark(Phase::kJournal, durable.has_value());
  timer.Mark(Phase::kAct);  // A plain GPU needs nothing done to it.
  files.Finish();
  timer.Mark(Phase::kCdi, written.has_value());
  if (!durable) return durable;
  if (!written) return std::unexpected(std::move(written).error());
  return {};
}

Result<void> Preparer::UnprepareOne(const api::ClaimRef& claim, kubelet::Deadline deadline) {
  PhaseTimer timer(parts_.metrics, Method::kUnprepare);
  parts_.metrics.Started(Method::kUnprepare);
  const auto undo = [&]() -> Result<void> {
    if (!api::IsClaimUid(claim.uid)) return {};  // Then it was never prepared.
    TESSERA_ASSIGN(const journal::Lease lease, parts_.leases.Acquire({ClaimLease(claim.uid)}, deadline));
    timer.Mark(Phase::kLock);
    return Undo(claim.uid, "asked by the kubelet");
  };
  Result<void> undone = undo();
  const Error* error = undone ? nullptr : &undone.error();
  parts_.metrics.Finished(Method::kUnprepare, timer.total(), error);
  Report(claim, Method::kUnprepare, error);
  return undone;
}

Result<void> Preparer::Undo(const std::string& uid, std::string_view why) {
  if (auto read = parts_.journal.Refresh(); !read) log::Failure(read.error(), "Could not read the journal");
  const journal::ClaimPtr record = parts_.journal.Find(uid);
  // A file that cannot be removed blocks nobody: its names hold the claim's UID. Reconciling removes it later.
  if (auto removed = parts_.files.Remove(uid); !removed) {
    log::Failure(removed.error(), "Could not remove a claim's CDI file", {{"uid", uid}});
  }
  if (!record) return {};
  if (auto forgotten = parts_.journal.Forget(uid); !forgotten) {
    // It is forgotten in this process and written later; should we die before, reconciling finds the claim gone.
    log::Failure(forgotten.error(), "Could not note in the journal that a claim is gone", {{"uid", uid}});
  }
  log::Info("Unprepared claim", {{"claim", api::ToText(record->claim)}, {"uid", uid}, {"why", why}});
  if (on_change) on_change();
  return {};
}

// One log line and one Event for a failure, and one Event when it went away again. What fails for good is also told on
// the Node, once for all claims that it hits: its text names none of them.
void Preparer::Report(const api::ClaimRef& claim, Method method, const Error* error) {
  if (error != nullptr) {
    log::Failure(*error, method == Method::kPrepare ? "Could not prepare a claim" : "Could not unprepare a claim",
                 {{"claim", api::ToText(claim)}, {"uid", claim.uid}});
    parts_.events.Post(ClaimTarget(claim), EventType::kWarning, error->code(), error->Text());
    if (method == Method::kPrepare && FailsForGood(*error)) {
      parts_.events.Post(NodeTarget(options_.node_name), EventType::kWarning, error->code(), error->Text());
    }
  }
  std::string before;
  {
    const std::lock_guard lock(failing_mutex_);
    const auto found = failing_.find(claim.uid);
    if (found != failing_.end()) before = found->second;
    if (error == nullptr) {
      failing_.erase(claim.uid);
    } else if (failing_.size() < kMaxFailing || found != failing_.end()) {
      failing_[claim.uid] = std::string(error->code());
    }
  }
  if (error == nullptr && !before.empty() && method == Method::kPrepare) {
    parts_.events.Post(ClaimTarget(claim), EventType::kNormal, "ClaimPrepared", Format("prepared after {}", before));
  }
}

}  // namespace tessera::driver
