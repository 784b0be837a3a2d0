// nvml/progress.h: where the NVML host is, in memory that the agent can see: when the host hangs or dies, the agent reads
// here in which call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "nvml/api.h"

namespace tessera::nvml {

// Plain atomics of a fixed layout, because two processes map it.
struct Progress {
  static constexpr std::uint32_t kNoCall = 0xFFFFFFFF;
  static constexpr std::uint32_t kNoGpu = 0xFFFFFFFF;

  std::atomic<std::uint32_t> calls = 0;           // Grows with each call.
  std::atomic<std::uint32_t> function = kNoCall;  // Fn of the call in progress.
  std::atomic<std::uint32_t> gpu = kNoGpu;        // Index of the GPU it asks about.
  std::atomic<std::int64_t> since = 0;  // When it began: steady_clock, which all processes share, in its ticks.

  std::chrono::steady_clock::time_point Since() const {
    return std::chrono::steady_clock::time_point(
        std::chrono::steady_clock::duration(since.load(std::memory_order_acquire)));
  }
};

// Notes one call in a Progress for as long as it lasts.
class CallScope {
 public:
  CallScope(Progress& progress, Fn fn, std::uint32_t gpu = Progress::kNoGpu) : progress_(progress) {
    progress_.gpu.store(gpu, std::memory_order_relaxed);
    progress_.since.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    progress_.function.store(static_cast<std::uint32_t>(fn), std::memory_order_release);
    progress_.calls.fetch_add(1, std::memory_order_release);
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope() { progress_.function.store(Progress::kNoCall, std::memory_order_release); }

 private:
  Progress& progress_;
};

}  // namespace tessera::nvml
