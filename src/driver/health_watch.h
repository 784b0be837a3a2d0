// driver/health_watch.h: the health of this node's devices: watched on a thread of its own, concluded by src/health.
//
//   NVML's events and vitals (nvml/watcher.h) ─┐
//   verdict files, the policy file ────────────┤             ┌─► report(): slices, health streams, claims' status
//   the inventory (hardware.h) ────────────────┼─► Monitor ──┼─► on_change, on_look
//   what others found: Observe() ──────────────┘             └─► the state file
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "driver/hardware.h"
#include "driver/health_files.h"
#include "driver/health_state.h"
#include "driver/metrics.h"
#include "driver/trouble.h"
#include "health/monitor.h"
#include "health/report.h"
#include "health/signal.h"
#include "nvml/watcher.h"

namespace tessera::driver {

// Takes a turn when something is seen, and at least once a second. Nobody who waits for it waits for NVML: the library
// lives in a child process, and the thread only reads its messages. While the driver does not answer scans, the watcher
// lets go of it.
class HealthWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Report = std::shared_ptr<const std::vector<health::DeviceHealth>>;

  struct Options {
    HealthFiles::Options files;
    std::filesystem::path state_file;
    std::string boot_id;
    nvml::WatchOptions watch;
  };
  // All must outlive it.
  struct Parts {
    const Hardware& hardware;
    Trouble& trouble;
    Metrics& metrics;
  };
  HealthWatch(Options options, Parts parts);
  ~HealthWatch();

  // Both run on the health thread and are set before Start(). They must not call Refresh(), and not block for long.
  std::function<void(const Report& report, const std::vector<health::Change>& changes)> on_change;
  std::function<void()> on_look;  // After each turn, also when nothing has changed: the report is of now.

  void Start();
  void Stop();  // Ends the thread and lets go of the driver.

  // From here on: from any thread.

  // As of the last turn. Never null; empty before the first scan of the hardware.
  Report report() const;
  Time made() const;  // When it was concluded. An old one means that the thread hangs.

  // What somebody else found, such as Prepare that meets a lost GPU. Returns at once; a turn that draws the conclusions
  // begins at once too. When kMaxWaiting wait already it is dropped and counted.
  void Observe(health::Signal signal);
  // Takes a turn and waits for its end: then report() holds what was observed before, and on_change has returned. False
  // when that took longer than `deadline`, or nothing is watched.
  bool Refresh(Time deadline);

  std::chrono::seconds lease() const { return lease_; }      // How long the kubelet shall believe a report.
  std::chrono::seconds history() const { return history_; }  // How long finished claims are remembered.

  // Of two instances only the one that leads writes the state file.
  void SetLeading(bool leading) { leading_ = leading; }

  static constexpr std::size_t kMaxWaiting = 1024;

 private:
  void Run(const std::stop_token& stop);
  void Prepare();
  void Turn();
  void FollowInventory(health::Moment now);
  void FollowFiles(health::Moment now);
  void TakeWaiting(health::Moment now);
  std::vector<health::Change> Conclude(health::Moment now);
  // Waits for what NVML says, or for something that wants a turn.
  void Watch(Time until);
  void Note(const Result<void>& kept);

  const Options options_;
  const Parts parts_;
  std::atomic<bool> leading_ = false;
  std::atomic<std::chrono::seconds> lease_, history_;

  mutable std::mutex mutex_;  // Guards what follows, up to waiting_.
  std::condition_variable turned_;
  Report report_ = std::make_shared<const std::vector<health::DeviceHealth>>();
  Time made_{};
  bool running_ = false;
  std::uint64_t begun_ = 0, ended_ = 0;  // Turns.
  std::vector<health::Signal> waiting_;

  // Of the health thread alone:
  HealthFiles files_;
  HealthState state_;
  health::Monitor monitor_;
  std::shared_ptr<const HardwareState> hardware_;  // The one that the monitor has.
  std::set<std::string> gpus_;                     // Their UUIDs.
  bool watching_ = false;
  bool unloaded_ = false;  // The driver was, since the last good scan.
  Time next_files_{};

  nvml::Watcher watcher_;
  std::jthread thread_;  // Last: joins first.
};

}  // namespace tessera::driver
