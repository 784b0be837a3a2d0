#include "tests/standin/seen.h"

#include <algorithm>

namespace tessera::standin {

SeenLog::Filter SeenLog::Is(std::string method, std::string part) {
  return [method = std::move(method), part = std::move(part)](const Seen& seen) {
    return (method.empty() || seen.method == method) && seen.target.find(part) != std::string::npos;
  };
}

std::vector<Seen> SeenLog::All() const {
  const std::lock_guard lock(mutex_);
  return {seen_.begin(), seen_.end()};
}

std::size_t SeenLog::Count(const Filter& filter) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(seen_, filter));
}

std::uint64_t SeenLog::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

void SeenLog::Forget() {
  const std::lock_guard lock(mutex_);
  seen_.clear();
}

std::optional<Seen> SeenLog::Wait(const Filter& filter, std::chrono::milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  std::optional<Seen> found;
  changed_.wait_for(lock, timeout, [&] {
    const auto it = std::ranges::find_if(seen_, filter);
    if (it != seen_.end()) found = *it;
    return found.has_value();
  });
  return found;
}

bool SeenLog::WaitCount(const Filter& filter, std::size_t count, std::chrono::milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout,
                           [&] { return static_cast<std::size_t>(std::ranges::count_if(seen_, filter)) >= count; });
}

void SeenLog::Add(const Request& request) {
  {
    const std::lock_guard lock(mutex_);
    ++total_;
    seen_.push_back({request.method, request.target, request.body, std::string(request.header("user-agent")),
                     std::string(request.header("content-type")), std::chrono::steady_clock::now()});
    if (seen_.size() > limit_) seen_.pop_front();
  }
  changed_.notify_all();
}

}  // namespace tessera::standin
