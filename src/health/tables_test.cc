// docs/health.md shows the tables that are compiled in. UPDATE_GOLDEN=1 writes them anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "health/catalogue.h"
#include "tests/support/paths.h"

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

// The page with `table` between its two markers.
std::string With(const std::string& page, std::string_view name, const std::string& table) {
  const auto begin = Cut(page, Format("<!-- {}: begin", name));
  const auto marker = begin ? Cut(begin->second, "-->\n") : std::nullopt;
  const std::string end = Format("<!-- {}: end -->", name);
  const auto rest = marker ? Cut(marker->second, end) : std::nullopt;
  if (!rest) return Format("there are no markers for {}", name);
  return Format("{}<!-- {}: begin{}-->\n\n{}\n{}{}", begin->first, name, marker->first, table, end, rest->second);
}

TEST(HealthTables, AreInTheDocumentation) {
  const std::filesystem::path path = std::filesystem::path(TESSERA_SOURCE_DIR) / "docs/health.md";
  const std::string page = ReadFile(path).value();
  const std::string wanted = With(With(page, "reasons", Reasons()), "xids", Xids());
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(ReplaceFile(path, wanted).has_value());
  }
  EXPECT_EQ(ReadFile(path).value(), wanted) << "run UPDATE_GOLDEN=1 ctest --preset dev -R HealthTables";
}

}  // namespace
}  // namespace tessera::health
