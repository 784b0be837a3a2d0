// docs/health.md shows the tables that are compiled in. UPDATE_GOLDEN=1 writes them anew.
#include <gtest/gtest.h>

#include "base/text.h"
#include "health/catalogue.h"
#include "tests/support/golden.h"

namespace tessera::health {
namespace {

std::string Text(std::chrono::seconds span) { return span.count() == 0 ? "" : ToText(Span{span}); }

std::string ProofText(const Rule& rule) {
  if (rule.proof == Proof::kQuiet) return Format("quiet {}, then {}", Text(rule.quiet), Text(rule.hold));
  return rule.hold.count() == 0 ? ToText(rule.proof) : Format("{}, for {}", ToText(rule.proof), Text(rule.hold));
}

std::string ThresholdText(const Rule& rule) {
  if (rule.window.count() > 0) return Format("{} in {}", rule.threshold, Text(rule.window));
  return rule.threshold > 1 ? Format("{}", rule.threshold) : "";
}

std::string Reasons() {
  std::string text = "| Code | Means | Class | Severity | Source | Threshold | `confirm` | Proof | Next step |\n";
  text += "|---|---|---|---|---|---|---|---|---|\n";
  for (const ReasonInfo& reason : Catalogue::Get().reasons()) {
    if (reason.kind == Kind::kXid) continue;  // It has a table of its own.
    text += Format("| `{}` | {} | {} | `{}` | {} | {} | {} | {} | {} |\n", ToText(reason.kind), reason.meaning,
                   ToText(reason.cls), ToText(reason.rule.severity), ToText(reason.source), ThresholdText(reason.rule),
                   Text(reason.rule.confirm), ProofText(reason.rule), reason.next);
  }
  return text;
}

std::string Codes(const XidInfo& xid) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < xid.codes.size();) {
    std::size_t last = i;
    while (last + 1 < xid.codes.size() && xid.codes[last + 1] == xid.codes[last] + 1) ++last;
    parts.push_back(last > i + 1 ? Format("{}–{}", xid.codes[i], xid.codes[last]) : Format("{}", xid.codes[i]));
    i = last > i + 1 ? last + 1 : i + 1;
  }
  return Join(parts, ", ");
}

std::string Xids() {
  std::string text = "| Action | Severity | Proof | Next step |\n|---|---|---|---|\n";
  for (const ActionInfo& action : Catalogue::Get().actions()) {
    const bool counts = action.rule.severity != Severity::kNone;
    text += Format("| `{}` | `{}` | {} | {} |\n", action.name, ToText(action.rule.severity),
                   counts ? ProofText(action.rule) : "", action.next);
  }
  text += "\n| Xid | Name | Means | Class | Action |\n|---|---|---|---|---|\n";
  for (const XidInfo& xid : Catalogue::Get().xids()) {
    text +=
        Format("| {} | `{}` | {} | {} | `{}` |\n", Codes(xid), xid.mnemonic, xid.meaning, ToText(xid.cls), xid.action);
  }
  return text;
}

TEST(HealthTables, AreInTheDocumentation) {
  EXPECT_TRUE(tests::PageShows("docs/health.md", "reasons", Reasons()));
  EXPECT_TRUE(tests::PageShows("docs/health.md", "xids", Xids()));
}

}  // namespace
}  // namespace tessera::health
