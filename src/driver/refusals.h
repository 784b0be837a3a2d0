// driver/refusals.h: claims that cannot be prepared, remembered by what is wrong with them.
//
// The kubelet asks again every minute or so, and a controller makes a new pod, with a new claim, each time. Such a
// repeat is the same question: the same devices, the same configs, the same state of devices and driver. It gets the
// same answer, without another look. Whatever of these changes makes it another question, which is tried again; and so is
// every question after ten minutes, should we have taken a fault for lasting that is none.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/prepared_claim.h"
#include "api/resource_claim.h"
#include "base/clock.h"
#include "base/error.h"
#include "driver/hardware.h"

namespace tessera::driver {

// What health thinks of a device, in some words that change with its opinion.
using HealthWords = std::function<std::string(std::string_view device)>;

// The question. Names and UIDs of claims are no part of it.
std::string QuestionOf(const api::Allocation& allocation, const HardwareState& hardware, const HealthWords& health);
// Of a claim that was prepared before.
std::string QuestionOf(const api::PreparedClaim& record, const HardwareState& hardware, const HealthWords& health);

// Safe to call from any thread.
class Refusals {
 public:
  struct Options {
    std::size_t limit = 256;  // Beyond it the oldest is forgotten.
    const Clock* clock = nullptr;
  };
  explicit Refusals(const Options& options)
      : limit_(options.limit), clock_(options.clock != nullptr ? *options.clock : SystemClock()) {}

  // Without a lock: where nothing was refused, nothing need be asked.
  bool empty() const { return empty_.load(std::memory_order_relaxed); }
  std::optional<Error> Find(const std::string& question) const;
  // Questions of over kMaxQuestion bytes are not remembered.
  void Add(const std::string& question, const Error& answer);

  static constexpr std::size_t kMaxQuestion = 32'768;
  static constexpr std::chrono::minutes kMaxAge{10};

 private:
  struct Answer {
    Error error;
    std::chrono::steady_clock::time_point given;
  };

  const std::size_t limit_;
  const Clock& clock_;
  std::atomic<bool> empty_ = true;
  mutable std::mutex mutex_;  // Guards everything below.
  std::map<std::string, Answer> answers_;
  std::deque<std::string> order_;  // The oldest first.
};

}  // namespace tessera::driver
