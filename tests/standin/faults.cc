#include "tests/standin/faults.h"

#include <algorithm>

namespace tessera::standin {

Faults::Id Faults::Add(Fault fault) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({next_, std::move(fault)});
  return next_++;
}

void Faults::Remove(Id id) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& entry) { return entry.id == id; });
  }
  changed_.notify_all();
}

void Faults::Clear() {
  {
    const std::lock_guard lock(mutex_);
    entries_.clear();
  }
  changed_.notify_all();
}

int Faults::hanging() const {
  const std::lock_guard lock(mutex_);
  return hanging_;
}

bool Faults::WaitHanging(int count, std::chrono::milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return hanging_ >= count; });
}

std::optional<Faults::Taken> Faults::Take(const Request& request) {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    Fault& fault = entry->fault;
    const bool meets = fault.times != 0 && (fault.method.empty() || fault.method == request.method) &&
                       request.target.find(fault.path) != std::string::npos;
    if (!meets) continue;
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    if (fault.times > 0) --fault.times;
    Taken taken{entry->id, fault};
    if (fault.times == 0 && fault.kind != Fault::Kind::kHang) entries_.erase(entry);
    return taken;
  }
  return std::nullopt;
}

void Faults::Hang(Id id, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  ++hanging_;
  changed_.notify_all();
  changed_.wait(lock, stop, [&] { return std::ranges::find(entries_, id, &Entry::id) == entries_.end(); });
  --hanging_;
}

void Faults::Pause(std::chrono::milliseconds delay, const std::stop_token& stop) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, delay, [] { return false; });
}

}  // namespace tessera::standin
