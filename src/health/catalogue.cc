#include "health/catalogue.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "json/decode.h"

namespace tessera::health {
namespace {

constexpr std::string_view kXidsText =
#include "health/xids.inc"
    ;
constexpr std::string_view kReasonsText =
#include "health/reasons.inc"
    ;

struct XidsFile {
  std::vector<ActionInfo> actions;
  XidInfo unknown;
  std::vector<XidInfo> xids;
};
struct ReasonsFile {
  std::vector<ReasonInfo> reasons;
};

// Spans are text in files and seconds everywhere else.
template <class F>
void DescribeSpan(F& f, std::string_view key, std::chrono::seconds& value) {
  Span span{value};
  f.Optional(key, span);
  value = span.value;
}

template <class F>
void DescribeRule(F& f, Rule& r) {
  f.Required("severity", r.severity);
  f.Optional("proof", r.proof);
  DescribeSpan(f, "confirm", r.confirm);
  DescribeSpan(f, "hold", r.hold);
  DescribeSpan(f, "quiet", r.quiet);
  f.Optional("threshold", r.threshold);
  DescribeSpan(f, "window", r.window);
}

}  // namespace

template <class F>
void Describe(F& f, ActionInfo& a) {
  f.Required("name", a.name);
  DescribeRule(f, a.rule);
  f.Required("next", a.next);
}

template <class F>
void Describe(F& f, XidInfo& x) {
  f.Optional("codes", x.codes);
  f.Required("mnemonic", x.mnemonic);
  f.Required("meaning", x.meaning);
  f.Required("class", x.cls);
  f.Required("action", x.action);
}

template <class F>
void Describe(F& f, ReasonInfo& r) {
  f.Required("code", r.kind);
  f.Required("class", r.cls);
  f.Required("taint", r.taint);
  f.Required("source", r.source);
  DescribeRule(f, r.rule);
  f.Required("meaning", r.meaning);
  f.Required("next", r.next);
}

namespace {

template <class F>
void Describe(F& f, XidsFile& file) {
  f.Required("actions", file.actions);
  f.Required("unknown", file.unknown);
  f.Required("xids", file.xids);
}

template <class F>
void Describe(F& f, ReasonsFile& file) {
  f.Required("reasons", file.reasons);
}

// The tables are part of the program: a fault in them is a bug, and the first test to run finds it.
template <class T>
T Load(std::string_view name, std::string_view text) {
  const auto documents = json::ParseYaml(text);
  if (!documents.has_value() || documents->size() != 1) Abort(Format("{} is not one YAML document", name));
  auto table = json::Decode<T>(documents->front());
  if (!table.has_value()) Abort(Format("{}: {}", name, table.error().Text()));
  return *std::move(table);
}

}  // namespace

Catalogue::Catalogue() {
  auto [actions, unknown, xids] = Load<XidsFile>("xids.yaml", kXidsText);
  actions_ = std::move(actions);
  unknown_ = std::move(unknown);
  xids_ = std::move(xids);
  for (std::size_t i = 0; i < xids_.size(); ++i) {
    for (const std::uint64_t code : xids_[i].codes) {
      if (!by_code_.emplace(code, i).second) Abort(Format("xids.yaml has code {} twice", code));
    }
    (void)Action(xids_[i].action);
  }
  (void)Action(unknown_.action);
  reasons_ = Load<ReasonsFile>("reasons.yaml", kReasonsText).reasons;
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (i >= reasons_.size() || reasons_[i].kind != static_cast<Kind>(i)) {
      Abort(Format("reasons.yaml must have {} at place {}", ToText(static_cast<Kind>(i)), i));
    }
  }
}

const Catalogue& Catalogue::Get() {
  static const Catalogue catalogue;
  return catalogue;
}

const XidInfo& Catalogue::Xid(std::uint64_t code) const {
  const auto found = by_code_.find(code);
  return found == by_code_.end() ? unknown_ : xids_[found->second];
}

const ActionInfo& Catalogue::Action(std::string_view name) const {
  const auto found = std::ranges::find(actions_, name, &ActionInfo::name);
  if (found == actions_.end()) Abort(Format("xids.yaml has no action {}", name));
  return *found;
}

}  // namespace tessera::health
