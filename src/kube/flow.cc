#include "kube/flow.h"

#include <algorithm>
#include <condition_variable>
#include <random>

namespace tessera::kube {

Time RequestBudget::Reserve(Time now) {
  const std::lock_guard lock(mutex_);
  const std::chrono::duration<double> since = now - refilled_;
  refilled_ = now;
  tokens_ = std::min(burst_, tokens_ + since.count() * qps_) - 1;
  const std::chrono::duration<double> wait(tokens_ < 0 ? -tokens_ / qps_ : 0);
  return std::max(now + std::chrono::duration_cast<Time::duration>(wait), hold_);
}

void RequestBudget::GiveBack() {
  const std::lock_guard lock(mutex_);
  tokens_ = std::min(burst_, tokens_ + 1);
}

void RequestBudget::HoldUntil(Time until) {
  const std::lock_guard lock(mutex_);
  hold_ = std::max(hold_, until);
}

std::chrono::milliseconds Backoff::Next() {
  const auto delay = Jitter(current_);
  current_ = std::min(to_, current_ * 2);
  return delay;
}

std::chrono::milliseconds Backoff::Jitter(std::chrono::milliseconds about) {
  thread_local std::minstd_rand random{std::random_device{}()};  // Seeding is slow, and most requests never wait.
  std::uniform_int_distribution<std::int64_t> between(about.count() / 2, about.count());
  return std::chrono::milliseconds(between(random));
}

bool PauseUntil(Time until, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_until(lock, stop, until, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace tessera::kube
