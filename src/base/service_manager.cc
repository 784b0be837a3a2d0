#include "base/service_manager.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/text.h"

namespace tessera {
namespace {

constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};

std::string_view Variable(const ServiceManager::Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// A path, or an abstract name that begins with @. Virtual machines may be given vsock:…, for which we have no use.
Result<std::string> ParseAddress(std::string_view text) {
  if (text.size() < 2 || (text[0] != '/' && text[0] != '@') || text.size() >= sizeof(sockaddr_un::sun_path)) {
    return BadConfig("BadNotifySocket", Format("NOTIFY_SOCKET: {} is no unix socket", Quote(text)),
                     "leave it to the service manager");
  }
  std::string address(text);
  if (address[0] == '@') address[0] = '\0';
  return address;
}

// Both variables are inherited, so they may be meant for our parent: sd_watchdog_enabled(3).
std::optional<std::chrono::microseconds> ParseWatchdog(std::string_view microseconds, std::string_view pid) {
  if (!pid.empty() && ParseNumber<pid_t>(pid) != ::getpid()) return std::nullopt;
  const auto period = ParseNumber<std::int64_t>(microseconds);
  if (!period || *period <= 0) return std::nullopt;
  return std::chrono::microseconds(*period);
}

}  // namespace

Result<ServiceManager> ServiceManager::Find(const Environment& environment) {
  ServiceManager manager;
  const std::string_view socket = Variable(environment, "NOTIFY_SOCKET");
  if (socket.empty()) return manager;
  TESSERA_ASSIGN(manager.address_, ParseAddress(socket));
  manager.socket_.Reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!manager.socket_) return FromErrno(errno, "NotifyFailed", "making a socket");
  if (::setsockopt(manager.socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience)) != 0) {
    return FromErrno(errno, "NotifyFailed", "limiting how long a notification may take");
  }
  manager.watchdog_ = ParseWatchdog(Variable(environment, "WATCHDOG_USEC"), Variable(environment, "WATCHDOG_PID"));
  return manager;
}

Result<void> ServiceManager::Send(std::string_view assignments) const {
  if (!present()) return {};
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, address_.data(), address_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const ssize_t sent = ::sendto(socket_.get(), assignments.data(), assignments.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length);
  if (sent < 0) return FromErrno(errno, "NotifyFailed", "notifying the service manager");
  return {};
}

}  // namespace tessera
