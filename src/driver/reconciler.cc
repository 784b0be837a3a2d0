#include "driver/reconciler.h"

#include <pthread.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "device/slices.h"
#include "driver/local_runs.h"

namespace tessera::driver {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kApiTimeout{10};
constexpr std::chrono::milliseconds kKubeletTimeout{2'000};

// The CDI id that a container of this claim and device names: "k8s.gpu.nvidia.com/claim=<uid>-<device>".
std::string ClaimIdPrefix(const std::string& uid) { return Format("{}={}-", cdi::kClaimKind, uid); }

}  // namespace

Reconciler::Reconciler(Options options, Parts parts)
    : options_(std::move(options)), parts_(parts), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

Reconciler::~Reconciler() = default;

void Reconciler::SetActive(bool active) {
  {
    const std::lock_guard lock(mutex_);
    if (active == active_) return;
    active_ = active;
    soon_ = soon_ || active;
  }
  changed_.notify_all();
}

void Reconciler::Soon() {
  {
    const std::lock_guard lock(mutex_);
    soon_ = true;
  }
  changed_.notify_all();
}

void Reconciler::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "reconcile");
  auto next_full = steady_clock::now();
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return active_; })) {
    const auto next = std::min(steady_clock::now() + options_.local_interval, next_full);
    changed_.wait_until(lock, stop, next, [this] { return soon_ || !active_; });
    if (stop.stop_requested()) return;
    if (!active_) continue;
    const bool full = std::exchange(soon_, false) || steady_clock::now() >= next_full;
    lock.unlock();
    if (auto read = parts_.journal.Refresh(); !read) log::Failure(read.error(), "Could not read the journal");
    ReportRecovery();
    MendFiles();
    if (full) {
      pods_ = parts_.foreign.Refresh(kKubeletTimeout).value_or(std::vector<kubelet::PodDevices>());
      used_ = ClaimedCdiIds(pods_);
      unsettled_ = false;
      FindOrphans();
      FindStrays();
      next_full = steady_clock::now() + (unsettled_ ? options_.sure_after : options_.full_interval);
    }
    lock.lock();
  }
}

void Reconciler::ReportRecovery() {
  const auto recovery = parts_.journal.TakeRecovery();
  if (!recovery || recovery->damaged_lines == 0) return;  // A torn tail is what a crash leaves; nothing was promised.
  const std::string text =
      Format("{} damaged lines of the journal are in {}; the claims they spoke of are rebuilt from CDI files",
             recovery->damaged_lines, recovery->quarantine.string());
  log::Warning("The journal was damaged",
               {{"lines", recovery->damaged_lines}, {"quarantine", recovery->quarantine.string()}});
  parts_.events.Post(NodeTarget(options_.node_name), EventType::kWarning, "JournalDamaged", text);
  Soon();
}

void Reconciler::MendFiles() {
  const auto hardware = parts_.hardware.state();
  if (!hardware) return;  // Device nodes are not known without the driver, and no container could start.
  for (const journal::ClaimPtr& claim : parts_.journal.All()) {
    const std::string& uid = claim->claim.uid;
    const auto lease = parts_.leases.TryAcquire(ClaimLease(uid));
    if (!lease || !lease->has_value()) continue;
    const journal::ClaimPtr now = parts_.journal.Find(uid);
    if (!now || now->run) continue;  // A run made its file of its own driver root.
    if (auto identified = Identify(*now, *hardware)) {
      if (auto kept = parts_.journal.Start(*std::move(identified)); !kept)
        log::Failure(kept.error(), "Could not note hardware");
      continue;  // The next pass sees it.
    }
    auto written = parts_.files.Ensure(*now, *hardware);
    if (!written) {
      log::Failure(written.error(), "Could not restore a claim's CDI file", {{"claim", api::ToText(now->claim)}});
      continue;
    }
    // Its file is the last step of preparing: whoever died before noting so has finished now.
    if (now->state != api::ClaimState::kCompleted) {
      auto noted = parts_.journal.Complete(uid);
      if (!noted) log::Failure(noted.error(), "Could not note that a claim is prepared", {{"uid", uid}});
    }
    if (*written) {
      parts_.metrics.reconciled.With({"cdi-restored"}).Add();
      log::Info("Restored a claim's CDI file", {{"claim", api::ToText(now->claim)}, {"uid", now->claim.uid}});
    }
  }
}

Reconciler::Life Reconciler::LifeOf(const api::PreparedClaim& claim) {
  if (claim.run) return HasEnded(claim, parts_.leases) ? Life::kGone : Life::kAlive;
  if (claim.claim.name.empty()) return Life::kUnknown;
  const auto found =
      parts_.claims.Get(claim.claim, steady_clock::now() + kApiTimeout, ClaimSource::Urgency::kBackground);
  if (!found) return found.error().code() == "ApiNotFound" ? Life::kGone : Life::kUnknown;
  const bool same = found->ref.uid == claim.claim.uid && found->allocation.has_value();
  return same ? Life::kAlive : Life::kGone;
}

bool Reconciler::UsedByPod(const std::string& uid) const {
  const std::string prefix = ClaimIdPrefix(uid);
  return used_ && std::ranges::any_of(*used_, [&](const std::string& id) { return id.starts_with(prefix); });
}

void Reconciler::FindOrphans() {
  std::map<std::string, steady_clock::time_point> suspects;
  for (const journal::ClaimPtr& claim : parts_.journal.All()) {
    if (claim->claim.name.empty()) LearnName(*claim);
    const Life life = LifeOf(*claim);
    unsettled_ = unsettled_ || life == Life::kUnknown;
    if (life != Life::kGone || UsedByPod(claim->claim.uid)) continue;
    const auto known = suspects_.find(claim->claim.uid);
    const auto since = known == suspects_.end() ? steady_clock::now() : known->second;
    if (!used_ && steady_clock::now() - since < options_.sure_after) {
      suspects.emplace(claim->claim.uid, since);
      continue;
    }
    const auto lease = parts_.leases.TryAcquire(ClaimLease(claim->claim.uid));
    if (!lease || !lease->has_value()) continue;
    if (parts_.preparer.Undo(claim->claim.uid, "its claim is gone")) parts_.metrics.reconciled.With({"orphan"}).Add();
  }
  suspects_ = std::move(suspects);
  unsettled_ = unsettled_ || !suspects_.empty();
}

// A completed record of the Go driver holds no name. The kubelet knows it as long as a pod has the claim.
void Reconciler::LearnName(const api::PreparedClaim& claim) {
  const std::string prefix = ClaimIdPrefix(claim.claim.uid);
  for (const kubelet::PodDevices& pod : pods_) {
    for (const auto& used : pod.claims) {
      const bool same = std::ranges::any_of(used.devices, [&](const auto& device) {
        return std::ranges::any_of(device.cdi_ids, [&](const std::string& id) { return id.starts_with(prefix); });
      });
      if (!same) continue;
      const auto lease = parts_.leases.TryAcquire(ClaimLease(claim.claim.uid));
      const bool ours = lease && lease->has_value() && parts_.journal.Find(claim.claim.uid) != nullptr;
      if (!ours) return;  // Somebody works on it, or it is gone.
      api::PreparedClaim named = claim;
      named.claim.namespace_name = used.namespace_name;
      named.claim.name = used.name;
      named.pods = {pod.pod_namespace + "/" + pod.pod_name};
      if (auto kept = parts_.journal.Start(named); !kept) log::Failure(kept.error(), "Could not name a claim");
      return parts_.metrics.reconciled.With({"named"}).Add();
    }
  }
}

std::vector<cdi::Writer::ClaimFile> Reconciler::Strays() const {
  const auto known = [this](const auto& uid) { return parts_.journal.Find(uid) != nullptr; };
  auto uids = parts_.writer.ListClaims();
  if (uids && std::ranges::all_of(*uids, known)) return {};  // As nearly always; nothing need be read.
  auto files = parts_.writer.ReadClaims();
  if (!files) {
    log::Failure(files.error(), "Could not read the CDI directory");
    return {};
  }
  std::erase_if(*files, [&](const cdi::Writer::ClaimFile& file) { return known(file.uid); });
  return *std::move(files);
}

void Reconciler::RestoreLost() {
  for (const cdi::Writer::ClaimFile& file : Strays()) {
    auto record = ClaimFiles::RecordOf(file);
    if (!record) continue;
    if (const auto lease = LeaseStray(file.uid)) Rebuild(*std::move(record));
  }
}

void Reconciler::FindStrays() {
  for (const cdi::Writer::ClaimFile& file : Strays()) Settle(file);
}

std::optional<journal::Lease> Reconciler::LeaseStray(const std::string& uid) const {
  auto lease = parts_.leases.TryAcquire(ClaimLease(uid));
  if (!lease || !lease->has_value()) return std::nullopt;
  if (auto read = parts_.journal.Refresh(); !read) return std::nullopt;
  if (parts_.journal.Find(uid) != nullptr || !parts_.writer.HasClaim(uid)) return std::nullopt;
  return *std::move(lease);
}

void Reconciler::Settle(const cdi::Writer::ClaimFile& file) {
  const auto lease = LeaseStray(file.uid);
  if (!lease) return;
  auto record = ClaimFiles::RecordOf(file);
  if (!record) record = Reconstruct(file);
  const Life life = record ? LifeOf(*record) : Life::kUnknown;
  unsettled_ = unsettled_ || life == Life::kUnknown;
  const bool used = UsedByPod(file.uid);
  if (life == Life::kAlive || (record && life == Life::kUnknown && used)) {
    Rebuild(*std::move(record));
  } else if (life == Life::kGone || (!record && used_ && !used)) {
    if (auto removed = parts_.files.Remove(file.uid); !removed)
      return log::Failure(removed.error(), "Could not remove a file");
    parts_.metrics.reconciled.With({"stray-removed"}).Add();
    log::Info("Removed a CDI file that belongs to no claim", {{"uid", file.uid}});
  }
}

void Reconciler::Rebuild(api::PreparedClaim record) {
  if (record.origin != "go") record.origin = "rebuilt";
  record.state = api::ClaimState::kCompleted;
  if (auto kept = parts_.journal.Start(record); !kept) return log::Failure(kept.error(), "Could not rebuild a claim");
  parts_.metrics.reconciled.With({"rebuilt"}).Add();
  log::Warning("Rebuilt a claim from its CDI file", {{"claim", api::ToText(record.claim)}, {"uid", record.claim.uid}});
  parts_.events.Post(ClaimTarget(record.claim), EventType::kNormal, "ClaimRebuilt",
                     "the journal had lost this claim; it was rebuilt from its CDI file");
}

std::optional<api::PreparedClaim> Reconciler::Reconstruct(const cdi::Writer::ClaimFile& file) const {
  const auto hardware = parts_.hardware.state();
  if (!hardware) return std::nullopt;
  const std::string prefix = ClaimIdPrefix(file.uid);
  for (const kubelet::PodDevices& pod : pods_) {
    for (const auto& used : pod.claims) {
      api::PreparedClaim claim{.claim = {used.namespace_name, used.name, file.uid},
                               .pods = {pod.pod_namespace + "/" + pod.pod_name},
                               .origin = "go"};
      for (const auto& device : used.devices) {
        const bool ours = std::ranges::any_of(device.cdi_ids, [&](const auto& id) { return id.starts_with(prefix); });
        const device::Device* found = FindNamed(*hardware, device.device);
        if (!ours || device.driver != device::kDriverName || found == nullptr) continue;
        claim.devices.push_back(
            {.pool = device.pool, .name = device.device, .hardware = HardwareOf(*found), .cdi_ids = device.cdi_ids});
      }
      if (!claim.devices.empty()) return claim;
    }
  }
  return std::nullopt;
}

}  // namespace tessera::driver
