#include "driver/leadership.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "device/slices.h"
#include "driver/api_objects.h"

namespace tessera::driver {
namespace {

constexpr const char* kLeaderLease = "publisher";
// Held by the instance that leads, once the Go driver's claims are ours.
constexpr const char* kAdoptedLease = "adopted";
constexpr std::string_view kRefused = "ApiUnauthorized";
constexpr std::chrono::seconds kFirstPatience{10}, kLongestPatience{300};
constexpr std::chrono::seconds kAside{3};  // Another instance looks once a second.

}  // namespace

Leadership::Leadership(Options options, Parts parts)
    : options_(std::move(options)), parts_(parts), patience_(kFirstPatience) {}

Result<void> Leadership::Adopt() {
  if (!go_lock_) {
    TESSERA_ASSIGN(go_lock_, HoldGoLock(options_.directory));
  }
  if (!go_lock_) return Transient("GoDriverBusy", "the Go driver is preparing a claim", "waiting for it to end");
  if (!leader_) {
    TESSERA_ASSIGN(leader_, parts_.leases.TryAcquire(kLeaderLease));
  }
  if (!leader_) {  // Another instance of ours leads, and adopts before it serves.
    TESSERA_ASSIGN(const bool adopted, parts_.leases.IsHeld(kAdoptedLease));
    if (adopted) return {};
    return Transient("Starting", "another instance of this plugin is taking over", "waiting for it");
  }
  const auto adoption = AdoptAsLeader();
  if (!adoption) {
    leader_.reset();
    return std::unexpected(adoption.error());
  }
  parts_.reconciler.RestoreLost();
  TESSERA_ASSIGN(adopted_, parts_.leases.TryAcquire(kAdoptedLease));
  const auto is_of_go = [](const journal::ClaimPtr& claim) { return claim->origin == "go"; };
  if (adoption->adopted > 0 || std::ranges::any_of(parts_.journal.All(), is_of_go)) parts_.offer.FollowClaims();
  if (adoption->adopted + adoption->forgotten > 0) {
    log::Info("Took over from the Go driver", {{"adopted", adoption->adopted}, {"forgotten", adoption->forgotten}});
    parts_.events.Post(NodeTarget(options_.node_name), EventType::kNormal, "TookOver",
                       Format("took over {} claims from the Go driver's checkpoint", adoption->adopted));
  }
  return {};
}

// A checkpoint that nobody can read keeps nobody waiting: its claims are found again in other ways.
Result<Adoption> Leadership::AdoptAsLeader() {
  const auto mig_on_demand = [this] { return FindMigOnDemand(parts_.client, parts_.api, options_.node_name); };
  auto adoption = AdoptCheckpoint(options_.directory, parts_.journal, options_.boot_id, mig_on_demand);
  if (adoption || adoption.error().code() != "BadCheckpoint") return adoption;
  parts_.trouble.Say(adoption.error());
  return Adoption{};
}

void Leadership::Lead() {
  if (StandsAside(Clock::now())) return;
  if (!leader_) {
    auto lease = parts_.leases.TryAcquire(kLeaderLease);
    if (!lease) return parts_.trouble.Say(lease.error());
    leader_ = *std::move(lease);
    if (!leader_) return;
  }
  if (!adopted_) {  // Tried again: the leader before us may let go of it a moment later, and others start only with it.
    if (auto held = parts_.leases.TryAcquire(kAdoptedLease)) adopted_ = *std::move(held);
  }
  if (!watch_) WatchSlices();
  parts_.publisher.SetActive(true);
  parts_.reconciler.SetActive(true);
  if (auto kept = parts_.checkpoint.KeepIfDue(); !kept) parts_.trouble.Say(kept.error());
}

bool Leadership::StandsAside(Clock::time_point now) {
  if (now < aside_until_) return true;
  const auto failure = parts_.publisher.failure();
  if (!leader_ || !failure || failure->code() != kRefused) {
    refused_since_.reset();
    if (leader_) patience_ = kFirstPatience;
    return false;
  }
  if (!refused_since_) refused_since_ = now;
  if (now - *refused_since_ < patience_) return false;
  log::Failure(*failure, "Letting another instance lead for some seconds");
  Pause();
  LetGo();
  refused_since_.reset();
  patience_ = std::min<Clock::duration>(2 * patience_, kLongestPatience);
  aside_until_ = now + kAside;
  return true;
}

void Leadership::Pause() {
  parts_.publisher.SetActive(false);
  parts_.reconciler.SetActive(false);
}

void Leadership::GiveUp() {
  Pause();
  leader_.reset();
  adopted_.reset();
  go_lock_.reset();
}

void Leadership::End() {
  watch_.reset();
  if (leader_) LetGo();
}

void Leadership::LetGo() {
  if (auto kept = parts_.checkpoint.Keep(); !kept) parts_.trouble.Say(kept.error());
  adopted_.reset();  // Before the other: who leads next takes both.
  leader_.reset();
}

void Leadership::WatchSlices() {
  Publisher& publisher = parts_.publisher;
  watch_ = std::make_unique<kube::Watch>(
      parts_.client, parts_.api,
      kube::WatchOptions{
          .resource = "resourceslices",
          .field_selector = Format("spec.driver={},spec.nodeName={}", device::kDriverName, options_.node_name)},
      kube::WatchHandlers{
          .on_list = [&publisher](std::vector<json::Value> items) { publisher.OnList(std::move(items)); },
          .on_change =
              [&publisher](kube::Change change, json::Value object) {
                if (change == kube::Change::kDeleted) return publisher.OnDeleted(std::move(object));
                publisher.OnChanged(std::move(object));
              },
          .on_error = [](const Error& error) { log::Failure(error, "Could not watch our ResourceSlices"); }});
}

}  // namespace tessera::driver
