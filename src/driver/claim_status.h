// driver/claim_status.h: writes into each prepared claim's status.devices how its devices are (KEP-4817).
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "api/device_status.h"
#include "base/clock.h"
#include "driver/claim_source.h"
#include "driver/device_conditions.h"
#include "driver/hardware.h"
#include "driver/metrics.h"
#include "driver/trouble.h"
#include "journal/journal.h"

namespace tessera::driver {

// Where entries go: the API server (api_objects.h), or a fake.
class StatusStore {
 public:
  virtual ~StatusStore() = default;
  // Makes these our entries in the claim of this name and UID. Returns what the server kept of them. Codes of errors
  // are those of kube/client.h; an "ApiInvalid" may also mean another UID, other devices, or a missing right.
  virtual Result<std::vector<api::DeviceStatus>> Apply(const api::ClaimRef& claim,
                                                       const std::vector<api::DeviceStatus>& devices,
                                                       const std::stop_token& stop) = 0;
};

// Follows the journal and the health reports on a thread of its own; nobody waits for it. Only what changed is written.
// Only the instance that publishes runs it; when it begins, it reads each claim once and writes where something
// differs. Safe to call from any thread.
class ClaimStatus {
 public:
  struct Options {
    std::string node_name;
    std::chrono::milliseconds retry_from{1'000}, retry_to{300'000};
    std::chrono::milliseconds look_interval{10'000};    // For claims that other instances prepare.
    std::chrono::milliseconds settle{250};              // After a change: more of them usually follow.
    std::chrono::milliseconds recheck{3'600'000};       // For a server that did not keep entries.
    std::chrono::milliseconds end_patience{3'600'000};  // For the last entry of a claim that was unprepared.
    const Clock* clock = nullptr;
  };
  // All must outlive it.
  struct Parts {
    journal::Journal& journal;
    const Hardware& hardware;
    ClaimSource& claims;
    StatusStore& store;
    Trouble& trouble;
    Metrics& metrics;
  };
  ClaimStatus(Options options, Parts parts);
  ~ClaimStatus();

  void SetActive(bool active);
  void SetHealth(NodeHealth report);
  void Soon();  // Something was prepared or unprepared.

  // One look at everything, with the writes that are due. Returns when to look again. For tests.
  std::chrono::steady_clock::time_point Pass(const std::stop_token& stop);

 private:
  // A claim that is followed.
  struct Entry {
    journal::ClaimPtr claim;
    std::vector<api::DeviceStatus> wanted, stored;  // `stored` as far as we know it.
    bool ask = false;                               // The server may have others than `stored`.
    bool gone = false;                              // There is no such claim any more, or it has other devices.
    bool ended = false;                             // Unprepared; one more write, then it is forgotten.
    std::chrono::steady_clock::time_point not_before{}, give_up{};
    std::chrono::milliseconds delay{0};
  };

  void Run(const std::stop_token& stop);
  void Follow(const std::vector<health::DeviceHealth>& report, bool fresh);
  void End(Entry& entry);
  void Settle(Entry& entry, const std::stop_token& stop);
  // What the server has of ours. Nothing when the claim is gone or has other devices.
  Result<std::optional<std::vector<api::DeviceStatus>>> Stored(const Entry& entry);
  void Fail(Entry& entry, const Error& error, bool asked);  // Whether the server was asked just before.
  void NoteDropped();
  bool IsDue(const Entry& entry) const;

  const Options options_;
  const Parts parts_;
  const Clock& clock_;
  // Of the thread that calls Pass():
  std::map<std::string, Entry> entries_;  // By UID.
  std::string driver_version_;
  std::chrono::steady_clock::time_point off_until_{};  // The server does not keep entries.
  bool said_dropped_ = false;

  std::mutex mutex_;  // Guards everything below.
  std::condition_variable_any changed_;
  NodeHealth report_;
  bool active_ = false, soon_ = false;
  bool fresh_ = true;  // Nothing is known yet of what the server has.

  std::jthread thread_;  // Last: joins first.
};

}  // namespace tessera::driver
