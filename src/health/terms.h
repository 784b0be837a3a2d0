// health/terms.h: the words that health, its policy file and its reports share. Their spelling in files is stable.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::health {

// How bad a finding is, mildest first.
enum class Severity : std::uint8_t {
  kNone,      // Counted, and nothing else.
  kDegraded,  // It works, with less than it should.
  kUnusable,  // New work should go elsewhere.
  kLost,      // Nothing on it works.
};

// What is done about findings of a class.
enum class Mode : std::uint8_t {
  kObserve,  // Reported, never a taint.
  kTaint,    // Keeps new claims away.
  kEvict,    // And makes pods leave.
};

// What must be true before a reason goes.
enum class Proof : std::uint8_t { kGone, kQuiet, kReset };

// Where a finding comes from. The brake is for polled ones: counters and states may all be wrong for one cause.
enum class Source : std::uint8_t { kEvent, kPoll };

// How an unusable device is kept from new claims.
enum class Isolation : std::uint8_t {
  kTaint,
  kWithdraw,  // It leaves the slice, so that claims for all devices, such as monitoring's, still fit.
};

enum class Class : std::uint8_t {
  kApplication,
  kMemory,
  kLink,
  kThermal,
  kPower,
  kPcie,
  kHardware,
  kFirmware,
  kAdvice,
  kLost,
  kSilent,
  kVerdict,
  kUnknown,
};
inline constexpr std::size_t kClasses = 13;

// What can be wrong: the codes of reasons.yaml, in its order.
enum class Kind : std::uint8_t {
  kXid,
  kEccUncorrected,
  kEccCorrected,
  kRowRemapPending,
  kRowRemapFailed,
  kPageRetirementPending,
  kPagesRetired,
  kNvlinkDown,
  kNvlinkErrors,
  kThermalSlowdown,
  kPowerSlowdown,
  kPcieDegraded,
  kFabricNotReady,
  kFabricFailed,
  kFabricDegraded,
  kRecoveryAction,
  kGpuLost,
  kDeviceNodeMissing,
  kGpuSilent,
  kUnmonitored,
  kVerdict,
  kPrepareFailed,
};
inline constexpr std::size_t kKinds = 22;

// A device's state. The order is how far it is from good.
enum class State : std::uint8_t { kHealthy, kSuspect, kRecovering, kUnhealthy };

// A single reason's state: not sure yet, sure, or about to go.
enum class Phase : std::uint8_t { kSuspect, kStanding, kRecovering };

// "none", "degraded", …; "observe", …; as in the files.
std::string ToText(Severity severity);
std::string ToText(Mode mode);
std::string ToText(Proof proof);
std::string ToText(Source source);
std::string ToText(Isolation isolation);
std::string ToText(Class value);
std::string ToText(Kind kind);
std::string ToText(State state);
std::string ToText(Phase phase);
bool FromText(std::string_view text, Severity& out);
bool FromText(std::string_view text, Mode& out);
bool FromText(std::string_view text, Proof& out);
bool FromText(std::string_view text, Source& out);
bool FromText(std::string_view text, Isolation& out);
bool FromText(std::string_view text, Class& out);
bool FromText(std::string_view text, Kind& out);
bool FromText(std::string_view text, State& out);
bool FromText(std::string_view text, Phase& out);

// A time span in files: "90s", "10m", "1h", "1d"; 0s to 365d.
struct Span {
  std::chrono::seconds value{0};
  bool operator==(const Span&) const = default;
};
std::string ToText(const Span& span);
bool FromText(std::string_view text, Span& out);

// "2026-11-15T18:00:00Z" or with an offset, "…+02:00". Fractions of a second are cut off.
std::optional<std::chrono::system_clock::time_point> ParseRfc3339(std::string_view text);

// Both clocks at one moment: durations are measured on one, people read the other.
struct Moment {
  std::chrono::system_clock::time_point wall;
  std::chrono::steady_clock::time_point mono;
};

}  // namespace tessera::health
