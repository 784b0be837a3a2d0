// Findings on a screen, and for a program.
#include <algorithm>

#include "base/text.h"
#include "json/value.h"
#include "lint/lint.h"

namespace tessera::lint {
namespace {

std::string_view ToText(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  std::unreachable();
}

std::size_t Count(const Report& report, Severity severity) {
  return static_cast<std::size_t>(std::ranges::count(report.findings, severity, &Finding::severity));
}

// Every line of it with blanks before.
std::string Indented(std::string_view text) {
  std::string out;
  for (const std::string_view line : Split(text, '\n')) out += Format("    {}\n", line);
  return out;
}

std::string Where(const Finding& finding) {
  const auto& origin = finding.origin;
  return origin.line == 0 ? origin.file : Format("{}:{}", origin.file, origin.line);
}

std::string ObjectAndPath(const Finding& finding) {
  const std::string space = finding.namespace_name.empty() ? "" : finding.namespace_name + "/";
  const std::string object = Format("{} {}{}", finding.kind, space, finding.name);
  return finding.path.empty() ? object : Format("{}: {}", object, finding.path);
}

json::Value ToValue(const Finding& finding) {
  json::Object value;
  const auto put = [&](std::string_view key, std::string_view text) { value.emplace(key, json::Value(text)); };
  put("file", finding.origin.file);
  value.emplace("document", finding.origin.document);
  value.emplace("line", finding.origin.line);
  put("kind", finding.kind);
  put("namespace", finding.namespace_name);
  put("name", finding.name);
  put("path", finding.path);
  put("severity", ToText(finding.severity));
  put("code", finding.code);
  put("message", finding.message);
  put("advice", finding.advice);
  put("fix", finding.fix);
  return value;
}

}  // namespace

std::string ToText(const Report& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    text += Format("{}: {} [{}]\n", Where(finding), ToText(finding.severity), finding.code);
    if (!finding.kind.empty()) text += Format("  {}\n", ObjectAndPath(finding));
    text += Indented(finding.message);
    if (!finding.advice.empty()) text += Format("  next: {}\n", finding.advice);
    if (!finding.fix.empty()) text += "  paste:\n" + Indented(finding.fix);
  }
  text += Format("{}, {}, {} in {}", Counted(Count(report, Severity::kError), "error"),
                 Counted(Count(report, Severity::kWarning), "warning"), Counted(Count(report, Severity::kNote), "note"),
                 Counted(report.checked, "object"));
  if (report.passed_over > 0) text += Format("; {} of other kinds passed over", report.passed_over);
  return text + "\n";
}

std::string ToJson(const Report& report) {
  json::Array findings;
  for (const Finding& finding : report.findings) findings.push_back(ToValue(finding));
  json::Object out;
  out.emplace("findings", std::move(findings));
  out.emplace("errors", Count(report, Severity::kError));
  out.emplace("warnings", Count(report, Severity::kWarning));
  out.emplace("notes", Count(report, Severity::kNote));
  out.emplace("checked", report.checked);
  out.emplace("passedOver", report.passed_over);
  return json::PrintJson(json::Value(std::move(out)), 2) + "\n";
}

}  // namespace tessera::lint
