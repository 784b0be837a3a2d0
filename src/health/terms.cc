#include "health/terms.h"

#include <array>
#include <span>
#include <utility>

#include "base/text.h"

namespace tessera::health {
namespace {

constexpr std::array<std::string_view, 4> kSeverityNames{"none", "degraded", "unusable", "lost"};
constexpr std::array<std::string_view, 3> kModeNames{"observe", "taint", "evict"};
constexpr std::array<std::string_view, 3> kProofNames{"gone", "quiet", "reset"};
constexpr std::array<std::string_view, 2> kSourceNames{"event", "poll"};
constexpr std::array<std::string_view, 2> kIsolationNames{"taint", "withdraw"};
constexpr std::array<std::string_view, kClasses> kClassNames{"application", "memory",   "link",     "thermal", "power",
                                                             "pcie",        "hardware", "firmware", "advice",  "lost",
                                                             "silent",      "verdict",  "unknown"};
constexpr std::array<std::string_view, kKinds> kKindNames{"Xid",
                                                          "EccUncorrected",
                                                          "EccCorrected",
                                                          "RowRemapPending",
                                                          "RowRemapFailed",
                                                          "PageRetirementPending",
                                                          "PagesRetired",
                                                          "NvlinkDown",
                                                          "NvlinkErrors",
                                                          "ThermalSlowdown",
                                                          "PowerSlowdown",
                                                          "PcieDegraded",
                                                          "FabricNotReady",
                                                          "FabricFailed",
                                                          "FabricDegraded",
                                                          "RecoveryAction",
                                                          "GpuLost",
                                                          "DeviceNodeMissing",
                                                          "GpuSilent",
                                                          "Unmonitored",
                                                          "Verdict",
                                                          "PrepareFailed"};
constexpr std::array<std::string_view, 4> kStateNames{"healthy", "suspect", "recovering", "unhealthy"};
constexpr std::array<std::string_view, 3> kPhaseNames{"suspect", "standing", "recovering"};

template <class E>
bool Find(std::span<const std::string_view> names, std::string_view text, E& out) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != text) continue;
    out = static_cast<E>(i);
    return true;
  }
  return false;
}

constexpr std::array kUnits{std::pair{'d', std::chrono::seconds{86400}}, std::pair{'h', std::chrono::seconds{3600}},
                            std::pair{'m', std::chrono::seconds{60}}, std::pair{'s', std::chrono::seconds{1}}};

// Two or four digits of a date.
std::optional<int> Digits(std::string_view text, std::size_t at, std::size_t count) {
  const std::string_view part = text.substr(at, count);
  for (const char c : part) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  return ParseNumber<int>(part);
}

// "Z" or "+02:00", behind an optional fraction.
std::optional<std::chrono::minutes> Offset(std::string_view text) {
  if (text.starts_with('.')) {
    const std::size_t end = text.find_first_not_of("0123456789", 1);
    if (end == 1 || end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end);
  }
  if (text == "Z" || text == "z") return std::chrono::minutes{0};
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const auto hours = Digits(text, 1, 2);
  const auto minutes = Digits(text, 4, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::chrono::minutes offset{*hours * 60 + *minutes};
  return text[0] == '-' ? -offset : offset;
}

}  // namespace

std::string ToText(Severity severity) { return std::string(kSeverityNames.at(static_cast<std::size_t>(severity))); }
std::string ToText(Mode mode) { return std::string(kModeNames.at(static_cast<std::size_t>(mode))); }
std::string ToText(Proof proof) { return std::string(kProofNames.at(static_cast<std::size_t>(proof))); }
std::string ToText(Source source) { return std::string(kSourceNames.at(static_cast<std::size_t>(source))); }
std::string ToText(Isolation isolation) { return std::string(kIsolationNames.at(static_cast<std::size_t>(isolation))); }
std::string ToText(Class value) { return std::string(kClassNames.at(static_cast<std::size_t>(value))); }
std::string ToText(Kind kind) { return std::string(kKindNames.at(static_cast<std::size_t>(kind))); }
std::string ToText(State state) { return std::string(kStateNames.at(static_cast<std::size_t>(state))); }
std::string ToText(Phase phase) { return std::string(kPhaseNames.at(static_cast<std::size_t>(phase))); }

bool FromText(std::string_view text, Severity& out) { return Find(kSeverityNames, text, out); }
bool FromText(std::string_view text, Mode& out) { return Find(kModeNames, text, out); }
bool FromText(std::string_view text, Proof& out) { return Find(kProofNames, text, out); }
bool FromText(std::string_view text, Source& out) { return Find(kSourceNames, text, out); }
bool FromText(std::string_view text, Isolation& out) { return Find(kIsolationNames, text, out); }
bool FromText(std::string_view text, Class& out) { return Find(kClassNames, text, out); }
bool FromText(std::string_view text, Kind& out) { return Find(kKindNames, text, out); }
bool FromText(std::string_view text, State& out) { return Find(kStateNames, text, out); }
bool FromText(std::string_view text, Phase& out) { return Find(kPhaseNames, text, out); }

std::string ToText(const Span& span) {
  for (const auto& [letter, unit] : kUnits) {
    if (span.value != std::chrono::seconds{0} && span.value % unit == std::chrono::seconds{0}) {
      return Format("{}{}", span.value / unit, letter);
    }
  }
  return "0s";
}

bool FromText(std::string_view text, Span& out) {
  if (text.size() < 2) return false;
  const auto count = ParseNumber<unsigned>(text.substr(0, text.size() - 1));
  for (const auto& [letter, unit] : kUnits) {
    if (text.back() != letter || !count || *count > std::chrono::days{365} / unit) continue;
    out.value = unit * *count;
    return true;
  }
  return false;
}

std::optional<std::chrono::system_clock::time_point> ParseRfc3339(std::string_view text) {
  using namespace std::chrono;
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const auto years = Digits(text, 0, 4), months = Digits(text, 5, 2), day = Digits(text, 8, 2);
  const auto hour = Digits(text, 11, 2), minute = Digits(text, 14, 2), second = Digits(text, 17, 2);
  const auto offset = Offset(text.substr(19));
  if (!years || !months || !day || !hour || !minute || !second || !offset) return std::nullopt;
  const year_month_day date{year{*years}, month{static_cast<unsigned>(*months)},
                            std::chrono::day{static_cast<unsigned>(*day)}};
  // 2262 is as far as system_clock counts.
  if (!date.ok() || *years < 1970 || *years > 2261 || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return sys_days{date} + hours{*hour} + minutes{*minute} + seconds{*second} - *offset;
}

}  // namespace tessera::health
