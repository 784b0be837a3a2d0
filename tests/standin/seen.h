// tests/standin/seen.h: every request that the API server double read, for tests to look at and to wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/standin/http.h"

namespace tessera::standin {

struct Seen {
  std::string method, target, body;  // The target is path and query, as sent.
  std::string user_agent, content_type;
  std::chrono::steady_clock::time_point time;
};

// Safe to call from any thread.
class SeenLog {
 public:
  using Filter = std::function<bool(const Seen&)>;

  explicit SeenLog(std::size_t limit) : limit_(limit) {}  // Beyond it the oldest are dropped.

  // A method (empty: any) and a part of the target.
  static Filter Is(std::string method, std::string part);

  std::vector<Seen> All() const;
  std::size_t Count(const Filter& filter) const;
  std::uint64_t total() const;  // Dropped and forgotten ones included.
  void Forget();

  // The first that the filter takes, of those already there or still to come; nothing when the time is over.
  std::optional<Seen> Wait(const Filter& filter, std::chrono::milliseconds timeout) const;
  // Until the filter takes at least `count`.
  bool WaitCount(const Filter& filter, std::size_t count, std::chrono::milliseconds timeout) const;

  void Add(const Request& request);  // The server's side.

 private:
  const std::size_t limit_;

  mutable std::mutex mutex_;  // Guards everything below.
  mutable std::condition_variable changed_;
  std::deque<Seen> seen_;
  std::uint64_t total_ = 0;
};

}  // namespace tessera::standin
