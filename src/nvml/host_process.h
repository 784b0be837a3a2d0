// nvml/host_process.h: an NVML host (host.h) as the agent sees it: a child process with a socket, a page, and an end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "nvml/progress.h"

namespace tessera::nvml {

struct HostOptions {
  std::vector<std::filesystem::path> driver_roots;  // Empty: DefaultDriverRoots().
  std::filesystem::path program = "/proc/self/exe";

  std::chrono::milliseconds call_deadline{5'000};        // For one NVML call …
  std::chrono::milliseconds slow_call_deadline{20'000};  // … and for those that may wake a GPU up (init, look-up).
  std::chrono::milliseconds read_deadline{60'000};       // For a whole Read(), restarts included.
  std::chrono::milliseconds idle{30'000};                // The host leaves when nobody asks for this long.
  std::chrono::minutes avoid_for{10};                    // A call that hung or crashed is tried again after this.
};

// With roots in place, and absolute: links below a root are resolved inside it.
HostOptions WithRoots(HostOptions options);

// One child process. Not thread-safe, but for Kill() and pid().
class HostProcess {
 public:
  static Result<std::unique_ptr<HostProcess>> Start(const HostOptions& options);
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  int pid() const { return pid_; }
  int socket() const { return socket_.get(); }
  const Progress& progress() const { return *progress_; }

  // Ends it: a closed socket lets a listening host leave within `grace`, a signal ends any other. False when the
  // kernel does not let it die.
  bool End(std::chrono::milliseconds grace);
  // Takes note of its death within `wait`.
  bool Reap(std::chrono::milliseconds wait);
  // Ends it from any thread, without taking note. False when it still lives after `wait`.
  bool Kill(std::chrono::milliseconds wait) const;

  bool left_by_itself() const;
  bool was_killed() const;  // By somebody's SIGKILL, such as the kernel's when memory is short: no fault of its own.
  // How it ended: "was killed by signal 11 (Segmentation fault)".
  std::string EndText() const;

 private:
  HostProcess() = default;

  UniqueFd socket_;
  UniqueFd pidfd_;  // None on kernels before 5.3: then deaths are noticed a poll later.
  Progress* progress_ = nullptr;
  pid_t pid_ = 0;  // Constant once it is started.
  bool ended_ = false;
  std::optional<int> status_;  // As waitpid() gave it.
};

// The host in use, and those that the kernel driver holds and that cannot be killed: they are abandoned, and reaped when
// it lets go of them.
class HostKeeper {
 public:
  // The host in use, or null.
  const std::shared_ptr<HostProcess>& host() const { return host_; }
  // Starts one; there must be none. Refuses when too many are abandoned.
  Result<void> Start(const HostOptions& options);
  void End(std::chrono::milliseconds grace);
  // Forgets hosts that have ended by themselves.
  void Reap();

 private:
  std::shared_ptr<HostProcess> host_;
  std::vector<std::shared_ptr<HostProcess>> abandoned_;
};

// Initialisation and look-up may wake a GPU up, which takes seconds without persistence mode.
bool MayBeSlow(std::uint32_t function);

// "1.5 s"
std::string SecondsText(std::chrono::milliseconds time);

}  // namespace tessera::nvml
