#include "tests/lint/case_file.h"

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "lint/live_devices.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

// "error BadName: no DNS label"
std::optional<Expected> ParseExpected(std::string_view text, std::size_t line) {
  const auto head = Cut(text, ": ");
  const auto words = head ? Cut(head->first, " ") : std::nullopt;
  if (!words || (words->first != "error" && words->first != "warning" && words->first != "note")) return std::nullopt;
  return Expected{line, std::string(words->first), std::string(words->second), std::string(Trim(head->second))};
}

void ParseOptions(std::string_view text, LintCase& one) {
  for (const std::string_view word : Split(text, ' ')) {
    const auto parts = Cut(word, "=");
    if (parts && parts->first == "k8s") one.release = parts->second;
    if (parts && parts->first == "slices") one.slices = parts->second;
  }
}

std::string_view ToText(lint::Severity severity) {
  return severity == lint::Severity::kError ? "error" : severity == lint::Severity::kWarning ? "warning" : "note";
}

bool Fits(const Expected& expected, const lint::Finding& finding) {
  const std::string all = Format("{}\n{}\n{}", finding.message, finding.advice, finding.fix);
  return finding.origin.line == expected.line && ToText(finding.severity) == expected.severity &&
         finding.code == expected.code && all.contains(expected.part);
}

}  // namespace

LintCase ParseLintCase(std::string_view text) {
  LintCase one;
  std::vector<std::string> below;  // Waits for a line that is no comment.
  std::size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const std::string_view trimmed = Trim(line);
    if (trimmed.starts_with("# lint: ")) ParseOptions(trimmed.substr(8), one);
    if (trimmed.starts_with("# below: ")) below.emplace_back(trimmed.substr(9));
    if (trimmed.empty() || trimmed.starts_with('#')) continue;
    if (const auto parts = Cut(line, " # ")) below.emplace_back(parts->second);
    for (const std::string& comment : below) {
      if (auto expected = ParseExpected(comment, number)) one.expected.push_back(*std::move(expected));
    }
    below.clear();
  }
  return one;
}

lint::Report RunLintCase(const LintCase& one, std::string_view text) {
  std::optional<lint::LiveDevices> devices;
  if (!one.slices.empty()) {
    const std::string file = Format("{}/tests/testdata/slices/{}.yaml", TESSERA_SOURCE_DIR, one.slices);
    devices = lint::LiveDevices::From(manifests::ReadManifests(file).value()).value();
  }
  const auto objects = manifests::ParseManifests(text, "case.yaml").value();
  return lint::Lint(objects,
                    {.release = lint::ParseRelease(one.release).value(), .devices = devices ? &*devices : nullptr});
}

std::vector<std::string> Differences(const LintCase& one, const lint::Report& report) {
  std::vector<std::string> differences;
  std::vector<lint::Finding> left = report.findings;
  for (const Expected& expected : one.expected) {
    const auto found = std::ranges::find_if(left, [&](const lint::Finding& f) { return Fits(expected, f); });
    if (found == left.end()) {
      differences.push_back(
          Format("missing, line {}: {} {}: {}", expected.line, expected.severity, expected.code, expected.part));
    } else {
      left.erase(found);
    }
  }
  for (const lint::Finding& finding : left) {
    differences.push_back(Format("found, line {}: {} {}: {}; {}; {}", finding.origin.line, ToText(finding.severity),
                                 finding.code, finding.message, finding.advice, finding.fix));
  }
  return differences;
}

}  // namespace tessera::tests
