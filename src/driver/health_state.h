// driver/health_state.h: what health knows, kept on disk so that a restart of the plugin forgets nothing.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "health/saved.h"
#include "health/state_file.h"

namespace tessera::driver {

// Writes what matters at once, and what only goes on (times, counts, a proof that gets longer) once a minute: a disk
// must not be worn by a GPU that is ill for weeks. Of one thread.
class HealthState {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit HealthState(std::filesystem::path file) : file_(std::move(file)) {}

  health::Loaded<health::SavedHealth> Load();
  Result<void> KeepIfDue(health::SavedHealth health, Time now);
  Result<void> Keep(health::SavedHealth health);

  static constexpr std::chrono::minutes kInterval{1};

 private:
  const std::filesystem::path file_;
  std::optional<health::SavedHealth> stored_;  // Nothing when the file may hold anything.
  Time next_{};                                // For what can wait, and after a failure.
};

}  // namespace tessera::driver
