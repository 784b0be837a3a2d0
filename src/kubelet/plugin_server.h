// kubelet/plugin_server.h: our side of the kubelet's sockets: registration, DRA and health services. Start here.
//
// The only module that sees gRPC.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/prepared_claim.h"
#include "base/error.h"

namespace tessera::kubelet {

using Deadline = std::chrono::steady_clock::time_point;

// What the kubelet is told of one claim.
struct ClaimAnswer {
  std::string uid;
  std::vector<api::PreparedDevice> devices;  // Empty after Unprepare.
  std::optional<Error> error;
};
using Answers = std::vector<ClaimAnswer>;
// Answers a call. `afterwards` runs, on a thread of gRPC, when the answer is on its way or nobody waits for it any more.
using Done = std::function<void(Answers answers, std::function<void()> afterwards)>;

// Implemented by the driver. Called on gRPC's threads, several at a time: must call `done` once, from any thread, now or
// later, also after the server is gone. gRPC has at least two threads: one may be kept for a while, and its answer goes
// out when it comes back; all other calls must return at once. A `done` that is dropped answers with an error for each
// claim. Each UID is there once; no claims at all are Probe()'s question whether the handler is alive.
class ClaimHandler {
 public:
  virtual ~ClaimHandler() = default;
  virtual void Prepare(std::vector<api::ClaimRef> claims, Deadline deadline, Done done) = 0;
  virtual void Unprepare(std::vector<api::ClaimRef> claims, Deadline deadline, Done done) = 0;
};

// One device's health, as NodeWatchResources reports it.
enum class Health : std::uint8_t { kUnknown = 0, kHealthy = 1, kUnhealthy = 2 };
struct DeviceHealth {
  std::string pool, device;
  Health health = Health::kUnknown;
  std::chrono::system_clock::time_point updated;
  std::chrono::seconds lease{30};
  std::string message;  // Cut to 1024 bytes at a character.

  bool operator==(const DeviceHealth&) const = default;
};

enum class Registration : std::uint8_t {
  kNone,        // No socket yet, or taken away.
  kWaiting,     // The socket is there, the kubelet has not come.
  kRegistered,  // The kubelet said so.
  kRefused,     // The kubelet said why not: see `error`. The socket is made again after a while.
};
struct RegistrationState {
  Registration state = Registration::kNone;
  std::string error;           // The kubelet's words.
  std::uint64_t attempts = 0;  // The kubelet's GetInfo calls; Probe() and AskPlugin() do not count.
  std::uint64_t refusals = 0;
};

struct PluginOptions {
  std::string driver_name;
  std::filesystem::path registry;          // --kubelet-registrar-directory-path
  std::filesystem::path directory;         // <--kubelet-plugins-directory-path>/<driver>
  std::string instance;                    // The pod's UID during rolling updates; empty: the fixed names.
  bool kep5322 = false;                    // Field 3 of a v1 answer says whether its error is permanent.
  std::chrono::seconds health_resend{10};  // At most; a third of the shortest lease where that is less.
  std::chrono::seconds health_max_age{5};  // A report that nobody has confirmed for longer is not sent any more.
  // Before a refused registration's socket is made again; doubles to 2 min.
  std::chrono::milliseconds refused_delay{5'000};
  // On each change of state or error, one at a time, on a thread of its own: not to destroy the server. May be empty.
  std::function<void(const RegistrationState&)> on_registration;
};

// "gpu.nvidia.com-<instance>-reg.sock" and "dra-<instance>.sock"; shortened as the Go helper of 1.37 does where the path
// would not fit sun_path.
struct SocketPaths {
  std::filesystem::path registration, service;
};
Result<SocketPaths> MakeSocketPaths(const PluginOptions& options);

class PluginServer {
 public:
  // Serves DRA (v1, v1beta1) and health (v1, v1alpha1) on the service socket. Nothing is registered yet.
  static Result<std::unique_ptr<PluginServer>> Start(const PluginOptions& options, ClaimHandler& handler);
  ~PluginServer();  // As Stop() without grace.

  // Makes the registration socket: the kubelet will come. Unlinks a stale one of the same name first.
  Result<void> Register();
  // Takes it away: the kubelet forgets us within a second.
  void Unregister();
  RegistrationState registration() const;

  // What health streams say, from now on. Each open stream gets all of it at once, again on change and every
  // `health_resend`. `as_of`: when it was found. The same again confirms it; when that stops, the repeats stop too, and
  // the kubelet says Unknown once the lease is over.
  void SetHealth(std::vector<DeviceHealth> devices, std::chrono::steady_clock::time_point as_of);
  std::size_t health_streams() const;  // How many are open.

  // Takes the registration socket away, lets running calls end for at most `grace`, then closes. New calls are
  // answered UNAVAILABLE meanwhile.
  void Stop(std::chrono::milliseconds grace);

  // Whether both own services answer over their sockets, as a kubelet would ask them: GetInfo (when registered at all)
  // and an empty Prepare. For liveness.
  Result<void> Probe(std::chrono::milliseconds timeout);

 private:
  class Impl;
  explicit PluginServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Removes registration and service sockets of this driver that nobody listens on (a crashed instance's). Sockets that
// answer, and files that are no sockets, stay. Returns what it removed.
std::vector<std::filesystem::path> RemoveStaleSockets(const PluginOptions& options);

}  // namespace tessera::kubelet
