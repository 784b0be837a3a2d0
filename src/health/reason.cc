#include "health/reason.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tessera::health {

Class ClassOf(const ReasonKey& key) {
  if (key.kind != Kind::kXid) return Catalogue::Get().Reason(key.kind).cls;
  return Catalogue::Get().Xid(ParseNumber<std::uint64_t>(key.detail).value_or(0)).cls;
}

void SeeBad(Reason& reason, const Signal& signal, const Rule& rule, bool waits, Moment now) {
  const bool is_new = reason.times == 0;
  if (is_new) reason.since = now.wall;
  if (is_new || (reason.phase == Phase::kSuspect && reason.proof_since)) {
    reason.bad_since = now.mono;
    if (waits) reason.advice_due = now.mono + kAdviceWait;
  }
  if (signal.certain) reason.bad_since = std::min(reason.bad_since, now.mono - rule.confirm);
  ++reason.times;
  reason.last_seen = now.wall;
  reason.bad_seen = now.mono;
  reason.reset_seen = false;
  SeeUnproven(reason);

  reason.found = signal.found;
  reason.next = signal.next;
  // The driver has said how bad this one is, and will say it again.
  if (waits && reason.phase != Phase::kSuspect) return;
  const Severity severity = rule.pinned ? rule.severity : signal.severity.value_or(rule.severity);
  // What occurred at its worst stays so until it is over; a condition is as bad as it is now.
  const Severity before =
      std::exchange(reason.severity, signal.sight == Sight::kPresent ? severity : std::max(reason.severity, severity));
  // One that was mild is weighed anew, the brake included.
  if (before < Severity::kUnusable && reason.severity >= Severity::kUnusable) reason.phase = Phase::kSuspect;
}

void SeeGood(Reason& reason, Moment now) {
  if (!reason.proof_since) reason.proof_since = now.mono;
  reason.proof_seen = now.mono;
  if (reason.phase == Phase::kStanding) reason.phase = Phase::kRecovering;
}

void SeeUnproven(Reason& reason) {
  reason.proof_since.reset();
  if (reason.phase == Phase::kRecovering) reason.phase = Phase::kStanding;
}

void SeeAdvice(Reason& reason, const Rule& rule, Severity advice, Moment now) {
  if (rule.proof != Proof::kReset || rule.pinned) return;
  if (advice == Severity::kNone) return SeeGood(reason, now);
  reason.advice_due.reset();
  reason.reset_seen = false;
  SeeUnproven(reason);
  if (rule.severity < Severity::kLost) reason.severity = std::min(rule.severity, advice);
}

bool IsConfirmed(const Reason& reason, const Rule& rule, Moment now) {
  if (reason.proof_since || (reason.advice_due && now.mono < *reason.advice_due)) return false;
  const Reason::Time until = rule.proof == Proof::kGone ? reason.bad_seen : now.mono;
  return until - reason.bad_since >= rule.confirm;
}

bool IsOver(const Reason& reason, const Rule& rule) {
  return reason.proof_since && reason.proof_seen - *reason.proof_since >= rule.hold;
}

bool IsStale(const Reason& reason, const Rule& rule, Moment now) {
  return reason.phase == Phase::kSuspect && rule.proof == Proof::kGone && !IsConfirmed(reason, rule, now) &&
         now.mono - reason.bad_seen > rule.confirm + rule.hold;
}

Severity Effective(const Reason& reason) {
  return reason.phase == Phase::kSuspect ? std::min(reason.severity, Severity::kDegraded) : reason.severity;
}

}  // namespace tessera::health
