// driver/trouble.h: what is in the way, told to people: in the log and as an Event on the Node.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "driver/events.h"

namespace tessera::driver {

// Says each code once a minute for as long as it lasts. Safe to call from any thread.
class Trouble {
 public:
  Trouble(std::string node_name, Events& events) : node_name_(std::move(node_name)), events_(events) {}

  void Say(const Error& error);
  // Says it, and remembers that the kubelet is not served because of it.
  void Block(const Error& error);
  // The kubelet is served: whatever comes now is new.
  void Clear();
  std::optional<Error> blocking() const;

 private:
  const std::string node_name_;
  Events& events_;
  mutable std::mutex mutex_;  // Guards everything below.
  std::optional<Error> blocking_;
  std::map<std::string, std::chrono::steady_clock::time_point, std::less<>> said_;  // By code.
};

}  // namespace tessera::driver
