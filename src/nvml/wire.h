// nvml/wire.h: what the agent and its NVML host say to each other: length-prefixed JSON on a socket pair.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "nvml/caller.h"
#include "nvml/facts.h"
#include "nvml/vitals.h"

namespace tessera::nvml {

// What a host is asked: to read the inventory once, or to watch from now on. A host that watches may be told anew what
// to avoid.
struct HostRequest {
  std::vector<std::string> driver_roots;
  std::vector<Avoid> avoid;
  std::optional<unsigned> watch_period_ms;
};
template <class F>
void Describe(F& f, HostRequest& r) {
  f.Required("driverRoots", r.driver_roots);
  f.Optional("avoid", r.avoid);
  f.Optional("watchPeriodMs", r.watch_period_ms);
}
Result<HostRequest> ParseRequest(std::string_view message);

// An Error on its way. Codes come back as literals; one we do not know becomes "NvmlHost".
struct WireError {
  std::string kind, code, message, advice;
};
template <class F>
void Describe(F& f, WireError& e) {
  f.Required("kind", e.kind);
  f.Required("code", e.code);
  f.Required("message", e.message);
  f.Optional("advice", e.advice);
}
WireError ToWire(const Error& error);
Error FromWire(const WireError& error);

struct ReadAnswer {
  std::optional<MachineFacts> facts;  // One of the two.
  std::optional<WireError> error;
};
template <class F>
void Describe(F& f, ReadAnswer& a) {
  f.Optional("facts", a.facts);
  f.Optional("error", a.error);
}

// A host that watches sends these unasked. GPUs are in the order of their index, also those without a UUID.
struct WatchAnswer {
  std::optional<Observation> seen;  // One of the two; the host ends after an error.
  std::optional<WireError> error;
};
template <class F>
void Describe(F& f, WatchAnswer& a) {
  f.Optional("seen", a.seen);
  f.Optional("error", a.error);
}

// What one message may hold: 256 GPUs with all their links fit ten times.
inline constexpr std::size_t kMaxMessage = std::size_t{16} << 20;

Result<void> SendMessage(int socket, std::string_view message);
// How many bytes of memory hold what the other side has not read yet.
std::size_t Unread(int socket);

// One message. Nothing when `wait` passed before it was complete, or an error: the other side is gone, or sent
// nonsense.
class Receiver {
 public:
  explicit Receiver(int socket) : socket_(socket) {}
  Result<std::optional<std::string>> Receive(std::chrono::milliseconds wait);

 private:
  const int socket_;
  std::string buffer_;  // What arrived of the message so far.
};

}  // namespace tessera::nvml
