#include "journal/turns.h"

namespace tessera::journal {

bool Turns::Enter(off_t place, std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  Queue& queue = queues_[place];  // Stays where it is: somebody stands in it until we leave.
  const std::uint64_t ticket = next_ticket_++;
  queue.push_back(ticket);
  const bool ours = moved_.wait_until(lock, deadline, [&] { return queue.front() == ticket; });
  if (!ours) Remove(place, ticket);
  return ours;
}

void Turns::Leave(off_t place) {
  const std::lock_guard lock(mutex_);
  Remove(place, queues_.at(place).front());
}

std::size_t Turns::Count(off_t place) const {
  const std::lock_guard lock(mutex_);
  const auto queue = queues_.find(place);
  return queue == queues_.end() ? 0 : queue->second.size();
}

void Turns::Remove(off_t place, std::uint64_t ticket) {
  Queue& queue = queues_.at(place);
  std::erase(queue, ticket);
  if (queue.empty()) queues_.erase(place);
  moved_.notify_all();
}

}  // namespace tessera::journal
