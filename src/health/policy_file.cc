// The policy file's format, and every way in which one can be wrong.
#include <array>

#include "base/text.h"
#include "health/policy.h"
#include "json/decode.h"

namespace tessera::health {

template <class F>
void Describe(F& f, RuleChange& c) {
  f.Optional("severity", c.severity);
  f.Optional("mode", c.mode);
  f.Optional("proof", c.proof);
  f.Optional("confirm", c.confirm);
  f.Optional("hold", c.hold);
  f.Optional("quiet", c.quiet);
  f.Optional("threshold", c.threshold);
  f.Optional("window", c.window);
  f.Check(!c.threshold || *c.threshold > 0, "threshold", "must be at least 1");
}

template <class F>
void Describe(F& f, ClassChange& c) {
  f.Optional("severity", c.severity);
  f.Optional("mode", c.mode);
}

namespace {

// As it is written: keys are text until they are checked.
struct ChangesText {
  std::map<std::string, ClassChange> classes;
  std::map<std::string, RuleChange> reasons, xids;
};
struct ModelText {
  std::string product;
  ChangesText changes;
};
struct BrakeText {
  std::optional<double> share;
  std::optional<unsigned> gpus;
};
struct FileText {
  unsigned version = 0;
  BrakeText brake;
  std::optional<Span> lease, stale_after, history;
  std::optional<Isolation> isolation;
  ChangesText changes;
  std::vector<ModelText> models;
};

template <class F>
void DescribeChanges(F& f, ChangesText& c) {
  f.Optional("classes", c.classes);
  f.Optional("reasons", c.reasons);
  f.Optional("xids", c.xids);
}

template <class F>
void Describe(F& f, ModelText& m) {
  f.Required("product", m.product);
  DescribeChanges(f, m.changes);
  f.Check(!m.product.empty() && m.product != "*", "product", "must name a product; general rules need no models entry");
}

template <class F>
void Describe(F& f, BrakeText& b) {
  f.Optional("share", b.share);
  f.Optional("gpus", b.gpus);
  f.Check(!b.share || (*b.share >= 0 && *b.share <= 1), "share", "must be from 0 to 1");
  f.Check(!b.gpus || *b.gpus >= 1, "gpus", "must be at least 1");
}

template <class F>
void CheckRange(F& f, const std::optional<Span>& span, std::string_view key, Span least, Span most) {
  const bool fits = !span || (span->value >= least.value && span->value <= most.value);
  f.Check(fits, key, Format("must be from {} to {}", ToText(least), ToText(most)));
}

template <class F>
void Describe(F& f, FileText& t) {
  using std::chrono::hours, std::chrono::seconds;
  f.Required("version", t.version);
  f.Optional("brake", t.brake);
  f.Optional("lease", t.lease);
  f.Optional("staleAfter", t.stale_after);
  f.Optional("history", t.history);
  f.Optional("isolation", t.isolation);
  DescribeChanges(f, t.changes);
  f.Optional("models", t.models);
  f.Check(t.version == 1, "version", "must be 1");
  CheckRange(f, t.lease, "lease", {seconds{3}}, {hours{1}});
  CheckRange(f, t.stale_after, "staleAfter", {seconds{5}}, {hours{1}});
  CheckRange(f, t.history, "history", {seconds{0}}, {hours{24 * 7}});
}

constexpr std::string_view kAdvice = "correct the health policy file; docs/health.md lists what it may hold";

std::unexpected<Error> Bad(std::string_view what) {
  return BadConfig("HealthPolicyInvalid", Format("health policy: {}", what), std::string(kAdvice));
}

// `"ThermalSlowDown" is no reason; did you mean "ThermalSlowdown"?`
template <class E, std::size_t kCount>
std::string NoSuch(std::string_view text, std::string_view what) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kCount; ++i) names.push_back(ToText(static_cast<E>(i)));
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto near = NearMatch(text, views);
  const std::string hint = near ? Format("did you mean {}?", Quote(*near)) : "known: " + Join(names, ", ");
  return Format("{} is no {}; {}", Quote(Clip(text, 60)), what, hint);
}

// What was found wrong, with the place where it stands.
class Keys {
 public:
  explicit Keys(std::vector<std::string>& faults) : faults_(faults) {}

  RuleChanges Check(const ChangesText& text, const std::string& place) {
    RuleChanges changes;
    for (const auto& [key, change] : text.classes) {
      Class cls{};
      if (!FromText(key, cls)) {
        Fault(place + "classes", NoSuch<Class, kClasses>(key, "class"));
      } else {
        changes.classes[cls] = change;
      }
    }
    for (const auto& [key, change] : text.reasons) {
      Kind kind{};
      if (!FromText(key, kind)) {
        Fault(place + "reasons", NoSuch<Kind, kKinds>(key, "reason"));
      } else if (CheckReason(place + "reasons." + key, kind, change)) {
        changes.reasons[kind] = change;
      }
    }
    for (const auto& [key, change] : text.xids) {
      const auto code = ParseNumber<std::uint64_t>(key);
      if (!code) {
        Fault(place + "xids", Format("{} is no Xid; give its number", Quote(Clip(key, 60))));
      } else if (change.proof == Proof::kGone) {
        Fault(place + "xids." + key, "an Xid is never gone; its proof is quiet or reset");
      } else {
        changes.xids[*code] = change;
      }
    }
    return changes;
  }

 private:
  void Fault(const std::string& place, const std::string& what) { faults_.push_back(place + ": " + what); }

  bool CheckReason(const std::string& place, Kind kind, const RuleChange& change) {
    const Proof proof = Catalogue::Get().Reason(kind).rule.proof;
    if (kind == Kind::kXid) {
      Fault(place, "Xids are changed by code below xids, or by class");
    } else if (change.proof && (proof == Proof::kGone || change.proof == Proof::kGone)) {
      Fault(place, Format("its proof is {} and cannot be {}", ToText(proof), ToText(*change.proof)));
    } else if (change.quiet && proof == Proof::kGone) {
      Fault(place, "quiet has no meaning here: the condition is seen or not; set hold");
    } else {
      return true;
    }
    return false;
  }

  std::vector<std::string>& faults_;
};

}  // namespace

Result<Policy> Policy::Parse(std::string_view text) {
  if (text.size() > kMaxPolicySize) return Bad(Format("larger than {} bytes", kMaxPolicySize));
  Policy policy;
  if (text.empty()) return policy;
  const auto documents = json::ParseYaml(text);
  if (!documents.has_value()) return Bad(documents.error().message());
  if (documents->empty()) return policy;
  if (documents->size() > 1) return Bad("more than one YAML document");
  const auto file = json::Decode<FileText>(documents->front());
  if (!file.has_value()) return Bad(file.error().message());

  std::vector<std::string> faults;
  Keys keys(faults);
  policy.changes_ = keys.Check(file->changes, "");
  for (std::size_t i = 0; i < file->models.size(); ++i) {
    const ModelText& model = file->models[i];
    policy.models_.push_back({model.product, keys.Check(model.changes, Format("models[{}].", i))});
  }
  if (!faults.empty()) return Bad(Join(faults, "; "));

  if (file->lease) policy.lease_ = file->lease->value;
  if (file->stale_after) policy.stale_after_ = file->stale_after->value;
  if (file->history) policy.history_ = file->history->value;
  if (file->isolation) policy.isolation_ = *file->isolation;
  if (file->brake.share) policy.brake_share_ = *file->brake.share;
  if (file->brake.gpus) policy.brake_gpus_ = *file->brake.gpus;
  return policy;
}

}  // namespace tessera::health
