// net/resolve.h: from a host and a port to socket addresses. Internal to net/.
#pragma once

#include <sys/socket.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "net/http_client.h"

namespace tessera::net {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// "10.0.0.1" or "::1" as an address; nothing when the host is a name.
std::optional<Address> NumericAddress(const std::string& host, std::uint16_t port);

// Looks names up. getaddrinfo() knows no deadline, so it runs on a thread that is started for the first name; callers
// stop waiting when their time is up. Numeric hosts, which is what pods are given, need neither. Safe to call from any
// thread; callers share a lookup that is under way. The destructor waits for it (resolv.conf(5) says how long).
class Resolver {
 public:
  Resolver(std::string host, std::uint16_t port);

  Result<std::vector<Address>> Resolve(Deadline deadline, const std::stop_token& stop);

 private:
  void Run(const std::stop_token& stop);

  const std::string host_;
  const std::uint16_t port_;
  const std::optional<Address> numeric_;

  std::mutex mutex_;  // Guards everything below but the thread's own state.
  std::condition_variable_any changed_;
  bool wanted_ = false;         // A lookup is asked for or under way.
  std::uint64_t finished_ = 0;  // Lookups that ended.
  Result<std::vector<Address>> last_;
  std::jthread worker_;  // Last: joins first.
};

}  // namespace tessera::net
