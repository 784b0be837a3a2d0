// health/reason.h: the life of one reason: suspect, standing, recovering, gone.
//
//      seen, not yet for `confirm`        seen for `confirm`           proof begins
//   ─► suspect ──────────────────────► standing ────────────────► recovering ──► gone
//         │                               ▲                            │   the proof held for `hold`
//         └──► gone                       └────────────────────────────┘
//         the proof held for `hold`              seen again
//
// Time passes only as far as somebody looked: a GPU that does not answer proves nothing.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "health/catalogue.h"
#include "health/signal.h"
#include "health/terms.h"

namespace tessera::health {

// How long an Xid waits for the driver's own advice before the catalogue decides. The vitals are read right after it.
inline constexpr std::chrono::seconds kAdviceWait{10};

struct ReasonKey {
  Kind kind = Kind::kXid;
  Place place;
  std::string detail;
  auto operator<=>(const ReasonKey&) const = default;
};

Class ClassOf(const ReasonKey& key);  // Of an Xid: its code's.

struct Reason {
  using Time = std::chrono::steady_clock::time_point;

  Phase phase = Phase::kSuspect;
  bool held = false;  // By the brake: it would stand if it were alone.
  Severity severity = Severity::kNone;
  std::string found, next;
  std::vector<std::string> mig_uuids;                      // Of the instances that it is about, where it names one.
  std::chrono::system_clock::time_point since, last_seen;  // Seen bad.
  std::uint64_t times = 0;                                 // How often it occurred.

  Time bad_since, bad_seen;         // The stretch in which it was seen bad.
  std::optional<Time> proof_since;  // The stretch in which it was proven good …
  Time proof_seen;                  // … up to here.
  std::optional<Time> advice_due;   // Until then the driver may say how bad it is.
  bool reset_seen = false;          // Since it was last seen bad.
};

// It was seen for the first time, or again. `waits` for the driver's advice: only where a GPU serves it.
void SeeBad(Reason& reason, const Signal& signal, const Rule& rule, bool waits, Moment now);

// What must be true for it to go is true now, or not any more.
void SeeGood(Reason& reason, Moment now);
void SeeUnproven(Reason& reason);

// The driver's own advice about the GPU outranks the catalogue: see Look::advice.
void SeeAdvice(Reason& reason, const Rule& rule, Severity advice, Moment now);

// It is sure enough to count in full.
bool IsConfirmed(const Reason& reason, const Rule& rule, Moment now);

// The proof has held for long enough.
bool IsOver(const Reason& reason, const Rule& rule);

// It was never confirmed and has not been seen for a while: an idle link, for one, says nothing more.
bool IsStale(const Reason& reason, const Rule& rule, Moment now);

// How bad it counts: before it stands never more than degraded.
Severity Effective(const Reason& reason);

}  // namespace tessera::health
