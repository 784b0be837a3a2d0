#include "health/report.h"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

#include "base/text.h"

namespace tessera::health {
namespace {

// Reasons for which nobody can say how the GPU is.
bool IsSilence(Kind kind) { return kind == Kind::kGpuSilent || kind == Kind::kUnmonitored; }

bool IsBad(const ReasonReport& reason) { return reason.severity >= Severity::kUnusable; }

// The worst decide; it recovers when all of these do.
State StateOf(const std::vector<ReasonReport>& reasons) {
  if (reasons.empty()) return State::kHealthy;
  const bool bad = std::ranges::any_of(reasons, IsBad);
  const bool recovers = std::ranges::all_of(
      reasons, [&](const ReasonReport& r) { return IsBad(r) != bad || r.phase == Phase::kRecovering; });
  if (recovers) return State::kRecovering;
  return bad ? State::kUnhealthy : State::kSuspect;
}

Health HealthOf(const std::vector<ReasonReport>& reasons, bool heard) {
  const bool bad = std::ranges::any_of(reasons, [](const auto& r) { return IsBad(r) && !IsSilence(r.kind); });
  if (bad) return Health::kUnhealthy;
  const bool silent = std::ranges::any_of(reasons, [](const auto& r) { return IsSilence(r.kind); });
  return silent || !heard ? Health::kUnknown : Health::kHealthy;
}

// "Xid79: … (recovering)."
std::string Phrase(const ReasonReport& reason) {
  const std::string_view note = reason.phase == Phase::kRecovering ? " (recovering)" : "";
  return Format("{}: {}{}.", reason.code, reason.sentence, note);
}

std::string MessageOf(const std::vector<ReasonReport>& reasons, bool heard) {
  if (reasons.empty()) return heard ? "" : "Not checked yet.";
  std::string message = Format("{} {}", Phrase(reasons.front()), reasons.front().next);
  for (std::size_t i = 1; i < reasons.size(); ++i) message += Format(" Also {}", Phrase(reasons[i]));
  constexpr std::string_view kCut = "…";
  if (message.size() <= kMaxMessage) return message;
  return std::string(Clip(message, kMaxMessage - kCut.size())) + std::string(kCut);
}

constexpr std::array<std::string_view, 3> kEffects{"None", "NoSchedule", "NoExecute"};

std::size_t EffectOf(const ReasonReport& reason) {
  if (!IsBad(reason)) return 0;
  return reason.mode == Mode::kEvict ? 2 : 1;
}

// A value is a label: the Xid's number is one, most others need none.
std::string TaintValue(const ReasonReport& reason) {
  if (reason.kind == Kind::kXid) return reason.code.substr(ToText(Kind::kXid).size());
  // The Go driver leaves the value of these keys empty.
  const bool bare = IsSilence(reason.kind) || Catalogue::Get().Reason(reason.kind).taint == "gpu-lost";
  return bare ? "" : reason.code;
}

// One a key. A milder reason never replaces a worse one, and of two alike the older stays.
std::vector<api::Taint> TaintsOf(const std::vector<ReasonReport>& reasons) {
  struct Candidate {
    std::size_t effect;
    std::string key, value;
  };
  std::vector<Candidate> found;
  for (const ReasonReport& reason : reasons) {
    if (reason.mode == Mode::kObserve) continue;
    const std::string key = std::string(kTaintDomain) + Catalogue::Get().Reason(reason.kind).taint;
    const auto same = std::ranges::find(found, key, &Candidate::key);
    if (same == found.end()) {
      found.push_back({EffectOf(reason), key, TaintValue(reason)});
    } else if (EffectOf(reason) > same->effect) {
      *same = {EffectOf(reason), key, TaintValue(reason)};
    }
  }
  std::ranges::stable_sort(found, std::greater<>(), &Candidate::effect);
  if (found.size() > kMaxTaints) found.resize(kMaxTaints);
  std::vector<api::Taint> taints;
  for (const Candidate& c : found)
    taints.push_back({.key = c.key, .value = c.value, .effect = std::string(kEffects.at(c.effect))});
  return taints;
}

std::string SentenceOf(const ReasonKey& key, const Reason& reason, std::string_view brake) {
  std::string sentence;
  if (key.kind == Kind::kXid) {
    const XidInfo& xid = Catalogue::Get().Xid(ParseNumber<std::uint64_t>(key.detail).value_or(0));
    sentence = Format("Xid {} ({}), {}", key.detail, xid.mnemonic, xid.meaning);
  } else {
    sentence = Catalogue::Get().Reason(key.kind).meaning;
  }
  if (!reason.found.empty()) sentence += ": " + reason.found;
  if (reason.held) sentence += Format("; held back, because {}", brake);
  return sentence;
}

std::string NextOf(const ReasonKey& key, const Reason& reason) {
  if (!reason.next.empty()) return reason.next;
  if (key.kind != Kind::kXid) return Catalogue::Get().Reason(key.kind).next;
  const XidInfo& xid = Catalogue::Get().Xid(ParseNumber<std::uint64_t>(key.detail).value_or(0));
  return Catalogue::Get().Action(xid.action).next;
}

// A fault that Prepare found keeps Prepare's code: both speak of the same.
std::string CodeOf(const ReasonKey& key) {
  if (key.kind == Kind::kPrepareFailed && !key.detail.empty()) return key.detail;
  return ToText(key.kind) + (key.kind == Kind::kXid ? key.detail : "");
}

}  // namespace

std::string ToText(Health health) {
  constexpr std::array<std::string_view, 3> kNames{"Unknown", "Healthy", "Unhealthy"};
  return std::string(kNames.at(static_cast<std::size_t>(health)));
}

bool FromText(std::string_view text, Health& out) {
  for (const Health health : {Health::kUnknown, Health::kHealthy, Health::kUnhealthy}) {
    if (ToText(health) != text) continue;
    out = health;
    return true;
  }
  return false;
}

ReasonReport MakeReasonReport(const ReasonKey& key, const Reason& reason, const Rule& rule, std::string_view brake) {
  return {.kind = key.kind,
          .code = CodeOf(key),
          .cls = ClassOf(key),
          .phase = reason.phase,
          .held = reason.held,
          .severity = Effective(reason),
          .mode = rule.mode,
          .sentence = SentenceOf(key, reason, brake),
          .next = NextOf(key, reason),
          .since = reason.since,
          .last_seen = reason.last_seen,
          .times = reason.times};
}

DeviceHealth MakeDeviceHealth(std::vector<ReasonReport> reasons, bool heard, Isolation isolation) {
  // Recovering ones after those that stand, then the oldest first: what came later is often its consequence.
  std::ranges::stable_sort(reasons, [](const ReasonReport& a, const ReasonReport& b) {
    const bool a_goes = a.phase == Phase::kRecovering, b_goes = b.phase == Phase::kRecovering;
    return std::tuple(b.severity, a_goes, a.since) < std::tuple(a.severity, b_goes, b.since);
  });
  DeviceHealth health;
  health.state = StateOf(reasons);
  health.severity = reasons.empty() ? Severity::kNone : reasons.front().severity;
  health.health = HealthOf(reasons, heard);
  health.message = MessageOf(reasons, heard);
  health.taints = TaintsOf(reasons);
  // Where pods must leave, the taint is needed: a device that is only missing evicts nobody.
  health.withdraw =
      isolation == Isolation::kWithdraw && !health.taints.empty() && health.taints.front().effect == kEffects.at(1);
  health.reasons = std::move(reasons);
  return health;
}

bool SameToOthers(const DeviceHealth& a, const DeviceHealth& b) {
  return a.uuid == b.uuid && a.state == b.state && a.severity == b.severity && a.health == b.health &&
         a.message == b.message && a.taints == b.taints && a.withdraw == b.withdraw;
}

}  // namespace tessera::health
