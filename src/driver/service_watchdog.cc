#include "driver/service_watchdog.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace tessera::driver {
namespace {

constexpr int kLooksInAPeriod = 3;  // One that fails, or comes late, must not end us.

}  // namespace

ServiceWatchdog::ServiceWatchdog(ServiceManager manager, std::function<Result<void>()> check,
                                 const std::stop_token& stop)
    : manager_(std::move(manager)), check_(std::move(check)) {
  Send("READY=1");
  if (!manager_.watchdog()) return;
  thread_ = std::jthread([this](const std::stop_token& own) { Run(own); });
  on_stop_.emplace(stop, [this] { thread_.request_stop(); });
}

void ServiceWatchdog::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Look();
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, stop, *manager_.watchdog() / kLooksInAPeriod, [] { return false; });
  }
}

void ServiceWatchdog::Look() {
  const Result<void> alive = check_();
  if (alive) {
    Send(failed_ ? "STATUS=\nWATCHDOG=1" : "WATCHDOG=1");
  } else {
    log::Failure(alive.error(), "The liveness check failed; the service manager is not told that we are alive");
    Send(Format("STATUS={}: {}", alive.error().code(), alive.error().Text()));
  }
  failed_ = !alive;
}

void ServiceWatchdog::Send(std::string_view assignments) const {
  if (auto sent = manager_.Send(assignments); !sent) log::Failure(sent.error(), "Could not notify the service manager");
}

}  // namespace tessera::driver
