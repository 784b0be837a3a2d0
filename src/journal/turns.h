// journal/turns.h: whose turn it is at a place, among the threads of this process, in order of arrival.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

namespace tessera::journal {

// Safe to call from any thread.
class Turns {
 public:
  // Waits for the turn; false at the deadline. One in the past means: only if nobody is there.
  bool Enter(off_t place, std::chrono::steady_clock::time_point deadline);
  // Ends the turn. Whoever entered must leave.
  void Leave(off_t place);

  std::size_t Count(off_t place) const;  // Who has the turn, and who waits for it.

 private:
  using Queue = std::deque<std::uint64_t>;  // Tickets; the first has the turn.
  void Remove(off_t place, std::uint64_t ticket);

  mutable std::mutex mutex_;  // Guards everything below.
  std::condition_variable moved_;
  std::map<off_t, Queue> queues_;  // None is empty.
  std::uint64_t next_ticket_ = 0;
};

}  // namespace tessera::journal
