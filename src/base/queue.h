// base/queue.h: the only way threads of ours hand work to each other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace tessera {

// A first-in, first-out queue with a bound. Safe to call from any thread.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // False when full or closed: the caller rejects, merges, or drops and counts. `item` is then untouched.
  [[nodiscard]] bool TryPush(T&& item) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    changed_.notify_one();
    return true;
  }
  [[nodiscard]] bool TryPush(const T& item) { return TryPush(T(item)); }

  // Waits for an item. Nothing when `stop` is requested, or when closed and drained.
  std::optional<T> Pop(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return closed_ || !items_.empty(); });
    if (stop.stop_requested() || items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  // No more items are taken in; those inside are still handed out.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  const std::size_t capacity_;

  mutable std::mutex mutex_;  // Guards everything below.
  std::condition_variable_any changed_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace tessera
