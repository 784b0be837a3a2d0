#include "driver/checkpoint_keeper.h"

#include <algorithm>

#include "driver/takeover.h"

namespace tessera::driver {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDelay{1'000};
constexpr std::chrono::milliseconds kInterval{30'000};  // For what other instances did.

}  // namespace

void CheckpointKeeper::Soon() {
  const std::lock_guard lock(mutex_);
  due_ = std::min(due_, steady_clock::now() + kDelay);
}

Result<void> CheckpointKeeper::KeepIfDue() {
  {
    const std::lock_guard lock(mutex_);
    if (due_ > steady_clock::now()) return {};
  }
  return Keep();
}

Result<void> CheckpointKeeper::Keep() {
  if (!options_.enabled) return {};
  {
    const std::lock_guard lock(mutex_);
    due_ = steady_clock::now() + kInterval;
  }
  return KeepCheckpoint(options_.directory, journal_, options_.boot_id);
}

}  // namespace tessera::driver
