// What a monitor remembers over a restart of the plugin, and what a reboot clears of it.
#include <algorithm>

#include "health/monitor.h"

namespace tessera::health {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;
using Wall = std::chrono::system_clock::time_point;

std::int64_t ToUnix(Wall time) { return duration_cast<seconds>(time.time_since_epoch()).count(); }

// A year at most, whatever the file says: beyond it nothing changes, and nothing overflows.
seconds Bounded(std::int64_t count) {
  return seconds{std::clamp<std::int64_t>(count, 0, duration_cast<seconds>(std::chrono::days{365}).count())};
}
Wall FromUnix(std::int64_t count, Wall now) { return Wall{seconds{std::clamp<std::int64_t>(count, 0, ToUnix(now))}}; }

SavedReason ToSaved(const ReasonKey& key, const Reason& reason, Moment now) {
  const auto whole = [](auto span) { return duration_cast<seconds>(span).count(); };
  SavedReason saved{.kind = key.kind,
                    .gpu_instance = key.place.gpu_instance,
                    .compute_instance = key.place.compute_instance,
                    .detail = key.detail,
                    .mig_uuids = reason.mig_uuids,
                    .phase = reason.phase,
                    .severity = reason.severity,
                    .found = reason.found,
                    .next = reason.next,
                    .since = ToUnix(reason.since),
                    .last_seen = ToUnix(reason.last_seen),
                    .times = reason.times,
                    .bad_for = whole(reason.bad_seen - reason.bad_since),
                    .bad_ago = whole(now.mono - reason.bad_seen),
                    .reset_seen = reason.reset_seen};
  if (reason.proof_since) saved.proven_for = whole(reason.proof_seen - *reason.proof_since);
  return saved;
}

Reason FromSaved(const SavedReason& saved, Moment now) {
  Reason reason;
  reason.phase = saved.phase;
  reason.severity = saved.severity;
  reason.found = saved.found;
  reason.next = saved.next;
  reason.mig_uuids = saved.mig_uuids;
  reason.since = FromUnix(saved.since, now.wall);
  reason.last_seen = FromUnix(saved.last_seen, now.wall);
  reason.times = std::max<std::uint64_t>(saved.times, 1);
  reason.reset_seen = saved.reset_seen;
  reason.bad_seen = now.mono - Bounded(saved.bad_ago);
  reason.bad_since = reason.bad_seen - Bounded(saved.bad_for);
  reason.proof_seen = now.mono;
  if (saved.proven_for) reason.proof_since = now.mono - Bounded(*saved.proven_for);
  // One without the other is no state that we write.
  if (reason.phase == Phase::kRecovering && !reason.proof_since) reason.phase = Phase::kStanding;
  return reason;
}

}  // namespace

SavedHealth Monitor::Save(const std::string& boot_id, Moment now) const {
  SavedHealth saved{.boot_id = boot_id, .gpus = {}};
  for (const auto& [uuid, gpu] : gpus_) {
    SavedGpu& out = saved.gpus.emplace_back();
    out.uuid = uuid;
    out.product = gpu.product;
    out.serves_advice = gpu.serves_advice;
    out.uncorrected = gpu.trail.uncorrected;
    out.uncorrected_lifetime = gpu.trail.uncorrected_lifetime;
    out.corrected = gpu.trail.corrected;
    out.corrected_lifetime = gpu.trail.corrected_lifetime;
    for (const auto& [link, trail] : gpu.trail.links) {
      if (trail.was_up) out.links_up.push_back(link);
    }
    for (const auto& [key, reason] : gpu.reasons) {
      // These two are about the plugin's view and its files, and are seen again at once.
      if (key.kind == Kind::kUnmonitored || key.kind == Kind::kVerdict) continue;
      out.reasons.push_back(ToSaved(key, reason, now));
    }
    for (const Device& device : devices_) {
      if (device.place.uuid != uuid) continue;
      out.devices.push_back({.name = device.name,
                             .uuid = device.uuid,
                             .bus_id = device.bus_id,
                             .index = device.index,
                             .gpu_instance = device.place.gpu_instance,
                             .compute_instance = device.place.compute_instance});
    }
  }
  return saved;
}

void Monitor::Restore(const SavedHealth& saved, const std::string& boot_id, Moment now) {
  const bool same_boot = saved.boot_id == boot_id;
  for (const SavedGpu& in : saved.gpus) {
    Gpu* gpu = FindOrAdd(in.uuid, now);
    if (gpu == nullptr) continue;
    gpu->product = in.product;
    gpu->trail.uncorrected_lifetime = in.uncorrected_lifetime;
    gpu->trail.corrected_lifetime = in.corrected_lifetime;
    if (same_boot) {
      gpu->serves_advice = in.serves_advice;
      gpu->trail.uncorrected = in.uncorrected;
      gpu->trail.corrected = in.corrected;
      for (const unsigned link : in.links_up) gpu->trail.links[link].was_up = true;
      // Until a snapshot has them; of a GPU that is lost none will, and its pods still want to know.
      for (const SavedDevice& each : in.devices) {
        devices_.push_back({.name = each.name,
                            .place = {in.uuid, each.gpu_instance, each.compute_instance},
                            .uuid = each.uuid,
                            .index = each.index,
                            .bus_id = each.bus_id,
                            .in_snapshot = false});
      }
    }
    for (const SavedReason& each : in.reasons) {
      const ReasonKey key{each.kind, {in.uuid, each.gpu_instance, each.compute_instance}, each.detail};
      // A reboot resets every GPU. A condition may outlive it: the first look says so.
      const bool cleared = !same_boot && RuleOf(*gpu, key).proof != Proof::kGone;
      if (cleared || gpu->reasons.size() >= kMaxReasonsPerGpu) continue;
      gpu->reasons.insert_or_assign(key, FromSaved(each, now));
      // When it answers again it was reset; once it did, that has been noticed.
      gpu->trail.lost |= same_boot && each.kind == Kind::kGpuLost && !each.proven_for;
    }
  }
}

}  // namespace tessera::health
