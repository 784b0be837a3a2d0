// base/service_manager.h: tells the service manager how we are, in sd_notify(3)'s protocol and without its library.
//
// systemd sets NOTIFY_SOCKET for units of Type=notify and WATCHDOG_USEC where WatchdogSec= is set. In a pod there is
// neither, and everything here does nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace tessera {

// One process's connection. Safe to use from any thread.
class ServiceManager {
 public:
  using Environment = std::function<const char*(const char* name)>;  // As getenv().

  // Fails when the environment names a socket that cannot be one. Nothing is sent yet.
  static Result<ServiceManager> Find(const Environment& environment);

  bool present() const { return !address_.empty(); }

  // How long the manager waits for WATCHDOG=1 before it restarts us. None: it does not watch this process.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

  // Assignments, one a line, such as "READY=1". Waits for the manager for a second at most.
  Result<void> Send(std::string_view assignments) const;

 private:
  ServiceManager() = default;

  UniqueFd socket_;
  std::string address_;  // As the kernel takes it: a path, or an abstract name after a NUL.
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace tessera
