// sim/library/events.h: event sets, which this process makes and owns.
#pragma once

#include <map>
#include <memory>
#include <mutex>

namespace tessera::sim::library {

// The sets of one kind. Their addresses are the handles; a set in use by a wait outlives its Free(). Thread-safe.
template <class Set>
class SetRegistry {
 public:
  template <class... Args>
  Set* Make(Args&&... args) {
    auto set = std::make_shared<Set>(std::forward<Args>(args)...);
    const std::scoped_lock hold(mutex_);
    return (sets_[set.get()] = set).get();
  }
  std::shared_ptr<Set> Find(const void* handle) {
    const std::scoped_lock hold(mutex_);
    const auto found = sets_.find(handle);
    return found == sets_.end() ? nullptr : found->second;
  }
  bool Free(const void* handle) {
    const std::scoped_lock hold(mutex_);
    return sets_.erase(handle) != 0;
  }
  void Clear() {
    const std::scoped_lock hold(mutex_);
    sets_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<Set>> sets_;  // Guarded by mutex_.
};

// The last shutdown frees every set this process made.
void FreeEventSets();
void FreeSystemEventSets();

}  // namespace tessera::sim::library
