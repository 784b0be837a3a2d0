// health/saved.h: what health remembers over a restart, as plain data with its JSON form.
//
// Durations are saved and not times on the monotonic clock: what passed while nobody looked proves nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "health/terms.h"

namespace tessera::health {

struct SavedReason {
  Kind kind = Kind::kXid;
  std::optional<unsigned> gpu_instance, compute_instance;
  std::string detail;
  std::vector<std::string> mig_uuids;
  Phase phase = Phase::kSuspect;
  Severity severity = Severity::kNone;
  std::string found, next;
  std::int64_t since = 0, last_seen = 0;  // Unix seconds.
  std::uint64_t times = 1;
  std::int64_t bad_for = 0;                // Seconds from its beginning to when it was last seen …
  std::int64_t bad_ago = 0;                // … and from then to the time of saving.
  std::optional<std::int64_t> proven_for;  // Seconds.
  bool reset_seen = false;
  bool operator==(const SavedReason&) const = default;
};

// What a lost GPU is known by: no scan can say it any more.
struct SavedDevice {
  std::string name, uuid, bus_id;
  unsigned index = 0;
  std::optional<unsigned> gpu_instance, compute_instance;
  bool operator==(const SavedDevice&) const = default;
};

struct SavedGpu {
  std::string uuid, product;
  bool serves_advice = false;
  std::optional<std::uint64_t> uncorrected, uncorrected_lifetime, corrected, corrected_lifetime;
  std::vector<unsigned> links_up;
  std::vector<SavedReason> reasons;
  std::vector<SavedDevice> devices;
  bool operator==(const SavedGpu&) const = default;
};

struct SavedHealth {
  std::string boot_id;
  std::vector<SavedGpu> gpus;
  bool operator==(const SavedHealth&) const = default;
};

// ---- JSON.

template <class F>
void Describe(F& f, SavedReason& r) {
  f.Required("code", r.kind);
  f.Optional("gpuInstance", r.gpu_instance);
  f.Optional("computeInstance", r.compute_instance);
  f.Optional("detail", r.detail);
  f.Optional("migUUIDs", r.mig_uuids);
  f.Required("phase", r.phase);
  f.Required("severity", r.severity);
  f.Optional("found", r.found);
  f.Optional("next", r.next);
  f.Required("since", r.since);
  f.Required("lastSeen", r.last_seen);
  f.Required("times", r.times);
  f.Required("badFor", r.bad_for);
  f.Required("badAgo", r.bad_ago);
  f.Optional("provenFor", r.proven_for);
  f.Optional("resetSeen", r.reset_seen);
}

template <class F>
void Describe(F& f, SavedDevice& d) {
  f.Required("name", d.name);
  f.Required("uuid", d.uuid);
  f.Optional("busID", d.bus_id);
  f.Optional("index", d.index);
  f.Optional("gpuInstance", d.gpu_instance);
  f.Optional("computeInstance", d.compute_instance);
}

template <class F>
void Describe(F& f, SavedGpu& g) {
  f.Required("uuid", g.uuid);
  f.Optional("product", g.product);
  f.Optional("servesAdvice", g.serves_advice);
  f.Optional("uncorrected", g.uncorrected);
  f.Optional("uncorrectedLifetime", g.uncorrected_lifetime);
  f.Optional("corrected", g.corrected);
  f.Optional("correctedLifetime", g.corrected_lifetime);
  f.Optional("linksUp", g.links_up);
  f.Optional("reasons", g.reasons);
  f.Optional("devices", g.devices);
}

template <class F>
void Describe(F& f, SavedHealth& h) {
  f.Required("bootID", h.boot_id);
  f.Optional("gpus", h.gpus);
}

}  // namespace tessera::health
