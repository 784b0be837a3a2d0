// driver/service_watchdog.h: under systemd, says that we are ready and feeds its watchdog while we are alive.
//
// In a pod the kubelet asks /healthz and restarts the container. Outside nobody asks, so we say the same unasked: after
// WatchdogSec= without a word the unit is restarted.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/error.h"
#include "base/service_manager.h"

namespace tessera::driver {

// Makes nothing but silence out of a check that fails or does not return. Without a service manager it does nothing.
class ServiceWatchdog {
 public:
  // Says READY=1. `check` is what backs /healthz; it is called three times in a watchdog's period, on a thread of our
  // own, until `stop` is requested: an end on purpose has the unit's TimeoutStopSec= instead.
  ServiceWatchdog(ServiceManager manager, std::function<Result<void>()> check, const std::stop_token& stop);

 private:
  void Run(const std::stop_token& stop);
  void Look();
  void Send(std::string_view assignments) const;

  const ServiceManager manager_;
  const std::function<Result<void>()> check_;
  bool failed_ = false;  // Of the thread alone: what the last check said.

  std::mutex mutex_;
  std::condition_variable_any stopped_;  // By a wish to stop only.
  std::jthread thread_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;  // After the thread that it stops.
};

}  // namespace tessera::driver
