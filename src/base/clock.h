// base/clock.h: time as a seam, so that tests can set it.
#pragma once

#include <chrono>
#include <string>

namespace tessera {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::system_clock::time_point Now() const = 0;        // For people and the API.
  virtual std::chrono::steady_clock::time_point Monotonic() const = 0;  // For deadlines and durations.
};

// The machine's own clock. Lives as long as the process.
const Clock& SystemClock();

// Stands still until told otherwise. Not thread-safe.
class FakeClock final : public Clock {
 public:
  std::chrono::system_clock::time_point Now() const override { return now_; }
  std::chrono::steady_clock::time_point Monotonic() const override { return monotonic_; }
  void Set(std::chrono::system_clock::time_point now) { now_ = now; }
  void Advance(std::chrono::nanoseconds by) {
    now_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(by);
    monotonic_ += by;
  }

 private:
  std::chrono::system_clock::time_point now_{};
  std::chrono::steady_clock::time_point monotonic_{};
};

// "2026-08-21T09:30:00Z", as the Kubernetes API writes times.
std::string Rfc3339(std::chrono::system_clock::time_point time);

}  // namespace tessera
