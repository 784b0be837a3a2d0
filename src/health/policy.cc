#include "health/policy.h"

#include "base/text.h"

namespace tessera::health {
namespace {

void Apply(const ClassChange& change, Rule& rule) {
  if (change.severity) rule.severity = *change.severity;
  if (change.mode) rule.mode = *change.mode;
}

void Apply(const RuleChange& change, Rule& rule) {
  if (change.severity) {
    rule.severity = *change.severity;
    rule.pinned = true;
  }
  if (change.mode) rule.mode = *change.mode;
  if (change.proof) rule.proof = *change.proof;
  if (change.confirm) rule.confirm = change.confirm->value;
  if (change.hold) rule.hold = change.hold->value;
  if (change.quiet) rule.quiet = change.quiet->value;
  if (change.window) rule.window = change.window->value;
  if (change.threshold) rule.threshold = *change.threshold;
}

template <class Key, class Change>
void ApplyFrom(const std::map<Key, Change>& changes, Key key, Rule& rule) {
  if (const auto found = changes.find(key); found != changes.end()) Apply(found->second, rule);
}

bool Matches(std::string_view pattern, std::string_view product) {
  return pattern.ends_with('*') ? product.starts_with(pattern.substr(0, pattern.size() - 1)) : pattern == product;
}

}  // namespace

std::vector<std::string> Policy::IgnoreXids(std::string_view list) {
  std::vector<std::string> refused;
  for (const std::string_view part : Split(list, ',')) {
    const std::string_view text = Trim(part);
    if (const auto code = ParseNumber<std::uint64_t>(text)) {
      ignored_.insert(*code);
    } else if (!text.empty()) {
      refused.emplace_back(Clip(text, 60));
    }
  }
  return refused;
}

Rule Policy::RuleFor(Kind kind, std::string_view product) const {
  const ReasonInfo& info = Catalogue::Get().Reason(kind);
  Rule rule = info.rule;
  ForEach(product, [&](const RuleChanges& changes) { ApplyFrom(changes.classes, info.cls, rule); });
  ForEach(product, [&](const RuleChanges& changes) { ApplyFrom(changes.reasons, kind, rule); });
  return rule;
}

Rule Policy::XidRule(std::uint64_t code, std::string_view product) const {
  const XidInfo& info = Catalogue::Get().Xid(code);
  Rule rule = Catalogue::Get().Action(info.action).rule;
  ForEach(product, [&](const RuleChanges& changes) { ApplyFrom(changes.classes, info.cls, rule); });
  if (ignored_.contains(code)) rule.severity = Severity::kNone;
  ForEach(product, [&](const RuleChanges& changes) { ApplyFrom(changes.xids, code, rule); });
  return rule;
}

void Policy::ForEach(std::string_view product, const std::function<void(const RuleChanges&)>& apply) const {
  apply(changes_);
  for (const ModelChanges& model : models_) {
    if (Matches(model.product, product)) apply(model.changes);
  }
}

bool Policy::Brakes(std::size_t hit, std::size_t all) const {
  return hit >= brake_gpus_ && static_cast<double>(hit) > brake_share_ * static_cast<double>(all);
}

}  // namespace tessera::health
