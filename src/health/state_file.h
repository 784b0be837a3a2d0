// health/state_file.h: health's own small files: what is known of the devices now, and what was known of devices that
// finished claims had.
//
// Each is one JSON document, `{"version": 1, …}`, replaced by rename after a sync, so that a crash leaves the old one or
// the new. A file that cannot be read is set aside beside itself as `NAME.damaged` (the one before is overwritten), and
// health starts with nothing: never fatal, because everything that still stands is seen again.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "health/report.h"
#include "health/saved.h"

namespace tessera::health {

inline constexpr std::size_t kMaxStateSize = std::size_t{8} << 20;
inline constexpr std::size_t kMaxHistory = 1000;  // Claims; beyond it the oldest go.
// In the plugin's directory:
inline constexpr std::string_view kHealthFile = "health.json";
inline constexpr std::string_view kHistoryFile = "health-history.json";

template <class T>
struct Loaded {
  T value;
  std::optional<Error> damage;  // What was wrong with the file, where it is now, and what that means.
};

// A file that is not there is an empty one.
Loaded<SavedHealth> LoadHealth(const std::filesystem::path& path);
// The same for who only looks: a file that cannot be read stays where it is, and is an error.
Result<SavedHealth> ReadHealth(const std::filesystem::path& path);
// Callers must exclude each other.
Result<void> StoreHealth(const std::filesystem::path& path, const SavedHealth& health);

// One device of a finished claim, as it was when the claim ended.
struct PastDevice {
  std::string device, uuid;
  State state = State::kHealthy;
  Health health = Health::kUnknown;
  std::string message;
  bool operator==(const PastDevice&) const = default;
};

struct PastClaim {
  std::string claim_namespace, name, uid;
  std::int64_t finished = 0;  // Unix seconds.
  std::vector<PastDevice> devices;
  bool operator==(const PastClaim&) const = default;
};

PastDevice ToPast(const DeviceHealth& health);

// The claims that ended within the policy's `history`, the oldest first.
struct History {
  std::vector<PastClaim> claims;
  bool operator==(const History&) const = default;
};

// A claim that is there already is kept as it is: what counts is how its devices were when it ended first.
void Remember(History& history, PastClaim claim);
void Prune(History& history, std::chrono::system_clock::time_point now, std::chrono::seconds keep);

Loaded<History> LoadHistory(const std::filesystem::path& path);
Result<History> ReadHistory(const std::filesystem::path& path);
Result<void> StoreHistory(const std::filesystem::path& path, const History& history);

}  // namespace tessera::health
