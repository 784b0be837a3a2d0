// nvml/watcher.h: the condition of all GPUs, watched by NVML in a child process, seen from the agent.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "nvml/blame.h"
#include "nvml/host_process.h"
#include "nvml/identities.h"
#include "nvml/vitals.h"
#include "nvml/wire.h"

namespace tessera::nvml {

struct WatchOptions {
  HostOptions host = {.avoid_for = std::chrono::minutes(1)};  // Not its deadlines for reading and idling.
  std::chrono::milliseconds period{5'000};                    // Between two readings of the vitals.
};

// Holds one long NVML session in a host of its own: it reads the vitals every period, and once more soon after an event.
// Each NVML call has a deadline. A GPU that makes the host hang is silent, and left alone for a while; a call that crashes
// it is left out. The host is replaced and the other GPUs' vitals go on; events that come meanwhile are lost. A host that
// cannot be killed is abandoned (HostKeeper).
//
// While it watches, the driver cannot be unloaded, nor a GPU be reset or change its MIG mode where that needs a reset:
// Release() it first.
//
// Next() belongs to one thread, which lives as long as the watcher is used: the kernel kills the host when the thread
// that started it ends. Everything else may be called from any thread.
class Watcher {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Watcher(WatchOptions options);
  ~Watcher();

  // Waits for what is seen next. Nothing: `until` has passed, Interrupt() was called, or the driver is released. An error
  // says that nothing is known of any GPU (no driver, no host); it is tried again after a pause, however soon the next
  // call comes. A GPU that was seen once is in every reading, as lost when NVML does not have it any more.
  Result<std::optional<Observation>> Next(Time until);

  // Makes Next() return now, or the next time it is called.
  void Interrupt();

  // Lets go of the driver until Resume(). True: no process of the watcher holds it any more.
  bool Release();
  void Resume();

  // Starts over, with everything forgotten: what GPUs there were and what was left out. After an inventory change.
  void Restart();

  // The host's process id, or 0 when there is none.
  int host_pid() const;

 private:
  struct Orders {
    bool released = false, restart = false, interrupt = false;
  };
  void Order(const std::function<void(Orders&)>& change);
  Orders TakeOrders();

  Result<void> StartHost();
  void EndHost(std::chrono::milliseconds grace);
  HostRequest Request() const;
  // The host's next message. Nothing when `until` passed or an order came. An error says how the host failed, as in "the
  // NVML host <message>".
  Result<std::optional<std::string>> Await(Time until);
  // Sleeps until then, or an order comes, or (with a host) there is something to read.
  void Sleep(Time until);
  // Since when the host is at what it does, how long it may take, and how long one may wait before looking again.
  struct Task {
    Time since;
    std::chrono::milliseconds limit;
    std::chrono::milliseconds look_again = std::chrono::hours(1);
  };
  Task CurrentTask() const;
  Result<std::optional<Observation>> Understand(const std::string& message);
  // The host is lost. An error when there is nothing to leave out that would help.
  Result<void> Replace(std::string what);
  bool ChangedShape(const MachineVitals& vitals);
  // No host is started for a while; the error says why.
  std::unexpected<Error> Pause(Error error);
  std::chrono::milliseconds RetryPause() const;

  const WatchOptions options_;
  const UniqueFd wake_;  // An eventfd: there are orders.

  mutable std::mutex mutex_;
  Orders orders_;                                // Guarded by mutex_.
  std::shared_ptr<const HostProcess> killable_;  // Guarded by mutex_: hosts_'s own.

  // Of Next()'s thread:
  HostKeeper hosts_;
  std::optional<Receiver> receiver_;
  Blame blame_;
  Identities identities_;
  std::string shape_;  // Driver version and number of GPUs of the last reading.
  Time heard_;         // When the host last said something, or was started.
  Time retry_at_;      // No host is started before.
};

}  // namespace tessera::nvml
