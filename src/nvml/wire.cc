#include "nvml/wire.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/fd.h"
#include "json/decode.h"

namespace tessera::nvml {
namespace {

constexpr auto kCodes = std::to_array<std::string_view>({"DriverNotFound", "DriverNotLoaded", "DriverVersionMismatch",
                                                         "DriverNoPermission", "DriverUnusable", "GpuCountUnknown"});
constexpr std::size_t kPrefix = 4;

}  // namespace

WireError ToWire(const Error& error) {
  return {std::string(ToString(error.kind())), std::string(error.code()), error.message(), error.advice()};
}

Error FromWire(const WireError& error) {
  std::string_view code = "NvmlHost";
  for (const std::string_view known : kCodes) {
    if (error.code == known) code = known;
  }
  for (const ErrorKind kind : {ErrorKind::kPermanentConfig, ErrorKind::kPermanentDevice}) {
    if (error.kind == ToString(kind)) return Error(kind, code, error.message, error.advice);
  }
  return Error(ErrorKind::kTransient, code, error.message, error.advice);
}

Result<HostRequest> ParseRequest(std::string_view message) {
  TESSERA_ASSIGN(const json::Value value, json::ParseJson(message));
  return json::Decode<HostRequest>(value);
}

Result<void> SendMessage(int socket, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string frame(reinterpret_cast<const char*>(&size), kPrefix);
  frame += message;
  return WriteAll(socket, frame);
}

std::size_t Unread(int socket) {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(std::max(bytes, 0)) : 0;
}

Result<std::optional<std::string>> Receiver::Receive(std::chrono::milliseconds wait) {
  const auto until = std::chrono::steady_clock::now() + wait;
  for (;;) {
    if (buffer_.size() >= kPrefix) {
      std::uint32_t size = 0;
      std::memcpy(&size, buffer_.data(), kPrefix);
      if (size > kMaxMessage) return Transient("NvmlHost", "a message from the other side is too large");
      if (buffer_.size() >= kPrefix + size) {
        std::optional<std::string> message(buffer_.substr(kPrefix, size));
        buffer_.erase(0, kPrefix + size);
        return message;
      }
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd poll{socket_, POLLIN, 0};
    const int ready = ::poll(&poll, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return FromErrno(errno, "NvmlHost", "poll");
    if (ready == 0) return std::nullopt;

    char chunk[65536];
    const ssize_t got = ::recv(socket_, chunk, sizeof chunk, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return Transient("NvmlHost", "the other side of the socket is gone");
    buffer_.append(chunk, static_cast<std::size_t>(got));
  }
}

}  // namespace tessera::nvml
