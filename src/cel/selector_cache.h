// cel/selector_cache.h: the same few expressions, asked again for every claim, compiled once.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cel/device_selector.h"
#include "cel/environment.h"

namespace tessera::cel {

// Safe from any thread. Expressions that do not compile are remembered with their error.
class SelectorCache {
 public:
  explicit SelectorCache(const Environment& environment, std::size_t capacity = 256)
      : environment_(environment), capacity_(capacity) {}

  // When it is full, what was asked for longest ago goes.
  Result<DeviceSelector> Get(std::string_view expression);

 private:
  struct Entry {
    Result<DeviceSelector> selector;
    std::uint64_t last_use = 0;
  };

  void MakeRoom();

  const Environment environment_;
  const std::size_t capacity_;
  std::mutex mutex_;  // Guards all below. Not held while an expression is compiled.
  std::map<std::string, Entry, std::less<>> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace tessera::cel
