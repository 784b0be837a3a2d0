// driver/checkpoint_keeper.h: when the Go driver's checkpoint is written. takeover.h says what goes into it.
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>

#include "base/error.h"
#include "journal/journal.h"

namespace tessera::driver {

// Only the instance that leads may call Keep() and KeepIfDue().
class CheckpointKeeper {
 public:
  struct Options {
    std::filesystem::path directory;  // The plugin's own.
    std::string boot_id;
    bool enabled = true;  // False: the operator will not go back.
  };
  CheckpointKeeper(Options options, journal::Journal& journal) : options_(std::move(options)), journal_(journal) {}

  // From any thread: a claim was prepared or unprepared. Due a moment later, so that several share one write.
  void Soon();
  Result<void> KeepIfDue();
  Result<void> Keep();

 private:
  const Options options_;
  journal::Journal& journal_;
  std::mutex mutex_;  // Guards due_.
  std::chrono::steady_clock::time_point due_{};
};

}  // namespace tessera::driver
