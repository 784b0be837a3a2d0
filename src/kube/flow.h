// kube/flow.h: how fast we ask, and how long we wait before asking again. Internal to kube/.
#pragma once

#include <chrono>
#include <mutex>
#include <stop_token>

namespace tessera::kube {

using Time = std::chrono::steady_clock::time_point;

// A budget of requests: `burst` at once, then `qps` a second. Safe to call from any thread.
class RequestBudget {
 public:
  RequestBudget(double qps, int burst) : qps_(qps), burst_(burst), tokens_(burst) {}

  // Takes one request out of the budget, to be sent at the time that is returned; that is `now` or later.
  Time Reserve(Time now);
  // The request that was to be sent then is not sent.
  void GiveBack();
  // The server asked us to wait: nothing is sent before `until`.
  void HoldUntil(Time until);

 private:
  const double qps_;
  const double burst_;

  std::mutex mutex_;  // Guards everything below.
  double tokens_;     // Negative: reserved by requests that wait.
  Time refilled_{};
  Time hold_{};
};

// Grows by the factor two from `from` to `to`. Each delay is drawn from its upper half, so that many nodes that failed
// together do not come back together.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds from, std::chrono::milliseconds to) : from_(from), to_(to), current_(from) {}

  std::chrono::milliseconds Next();
  void Reset() { current_ = from_; }
  // A duration between half of `about` and all of it.
  std::chrono::milliseconds Jitter(std::chrono::milliseconds about);

 private:
  const std::chrono::milliseconds from_, to_;
  std::chrono::milliseconds current_;
};

// Waits until then; false when `stop` was requested first.
bool PauseUntil(Time until, const std::stop_token& stop);

}  // namespace tessera::kube
