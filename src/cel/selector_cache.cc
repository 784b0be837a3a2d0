#include "cel/selector_cache.h"

#include <algorithm>
#include <utility>

namespace tessera::cel {

Result<DeviceSelector> SelectorCache::Get(std::string_view expression) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(expression); found != entries_.end()) {
      found->second.last_use = ++uses_;
      return found->second.selector;
    }
  }
  auto selector = Compile(expression, environment_);
  const std::lock_guard lock(mutex_);
  MakeRoom();
  entries_.try_emplace(std::string(expression), Entry{selector, ++uses_});
  return selector;
}

void SelectorCache::MakeRoom() {
  if (entries_.size() < capacity_) return;
  entries_.erase(std::ranges::min_element(entries_, {}, [](const auto& entry) { return entry.second.last_use; }));
}

}  // namespace tessera::cel
