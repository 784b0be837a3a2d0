#include "net/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/text.h"

namespace tessera::net {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

Result<std::vector<Address>> LookUp(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
  if (error != 0) return Transient("ConnectFailed", Format("looking up {}: {}", host, ::gai_strerror(error)));
  std::vector<Address> found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Address& address = found.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
  }
  return found;
}

}  // namespace

std::optional<Address> NumericAddress(const std::string& host, std::uint16_t port) {
  Address address;
  sockaddr_in four{};
  if (::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&address.storage, &four, sizeof(four));
    address.size = sizeof(four);
    return address;
  }
  sockaddr_in6 six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&address.storage, &six, sizeof(six));
    address.size = sizeof(six);
    return address;
  }
  return std::nullopt;
}

Resolver::Resolver(std::string host, std::uint16_t port)
    : host_(std::move(host)), port_(port), numeric_(NumericAddress(host_, port)) {}

Result<std::vector<Address>> Resolver::Resolve(Deadline deadline, const std::stop_token& stop) {
  if (numeric_) return std::vector{*numeric_};
  std::unique_lock lock(mutex_);
  if (!worker_.joinable()) {
    worker_ = std::jthread([this](const std::stop_token& own) { Run(own); });
  }
  const std::uint64_t before = finished_;
  wanted_ = true;
  changed_.notify_all();
  const bool done = changed_.wait_until(lock, stop, deadline, [&] { return finished_ != before; });
  if (done) return last_;
  if (stop.stop_requested()) return Transient("HttpCancelled", Format("looking up {}: cancelled", host_));
  return Transient("HttpTimeout", Format("looking up {}: no answer in time", host_), "Check the node's name servers.");
}

void Resolver::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return wanted_; }) && !stop.stop_requested()) {
    lock.unlock();
    Result<std::vector<Address>> found = LookUp(host_, port_);
    lock.lock();
    last_ = std::move(found);
    wanted_ = false;
    ++finished_;
    changed_.notify_all();
  }
}

}  // namespace tessera::net
