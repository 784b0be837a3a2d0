// driver/claim_history.h: how the devices of claims were when these ended, for those who ask afterwards why a pod died.
// `tessera devices --history` shows it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "driver/device_conditions.h"
#include "driver/trouble.h"
#include "health/state_file.h"
#include "journal/journal.h"

namespace tessera::driver {

// Notices on a thread of its own which claims left the journal, so that Unprepare never waits for it, and writes
// health/state_file.h's History. Only the instance that publishes runs it. A claim that ends in the moment before a
// crash may be missing. Safe to call from any thread.
class ClaimHistory {
 public:
  struct Options {
    std::filesystem::path directory;                  // The plugin's own.
    std::function<std::chrono::seconds()> keep;       // How long claims are remembered; any thread.
    std::chrono::milliseconds look_interval{10'000};  // For claims that other instances unprepare.
    std::chrono::milliseconds settle{250};            // After a change: more of them usually follow.
    const Clock* clock = nullptr;
  };
  ClaimHistory(Options options, journal::Journal& journal, Trouble& trouble);

  void SetActive(bool active);
  void SetHealth(NodeHealth report);
  void Soon();  // Something was prepared or unprepared.

  void Stop();  // Writes what is not written yet. Nothing follows.

  void Pass();  // What the thread does at each look; for tests.

 private:
  void Run(const std::stop_token& stop);
  health::PastClaim Past(const api::PreparedClaim& claim, const NodeHealth& report) const;

  const Options options_;
  journal::Journal& journal_;
  Trouble& trouble_;
  const Clock& clock_;
  // Of the thread that calls Pass():
  std::map<std::string, journal::ClaimPtr> prepared_;  // By UID.
  health::History history_;
  bool dirty_ = false;  // The file is behind.

  std::mutex mutex_;  // Guards everything below.
  std::condition_variable_any changed_;
  NodeHealth report_;
  bool active_ = false, soon_ = false;
  bool fresh_ = true;  // The file is to be read first.

  std::jthread thread_;  // Last: joins first.
};

}  // namespace tessera::driver
