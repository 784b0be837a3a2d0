// driver/reconciler.h: compares journal, CDI directory, API objects and the kubelet's list, and repairs the difference.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cdi/writer.h"
#include "driver/claim_files.h"
#include "driver/claim_source.h"
#include "driver/events.h"
#include "driver/foreign_holders.h"
#include "driver/hardware.h"
#include "driver/metrics.h"
#include "driver/preparer.h"
#include "journal/journal.h"
#include "journal/leases.h"

namespace tessera::driver {

// Works in every state a claim can be in. Only the instance that publishes runs it. Safe to call from any thread.
class Reconciler {
 public:
  struct Options {
    std::string node_name;
    std::chrono::milliseconds local_interval{30'000};  // Missing CDI files: no network.
    std::chrono::milliseconds full_interval{300'000};  // Orphans and strays: one GET a claim.
    std::chrono::milliseconds sure_after{10'000};      // An orphan is undone when it still is one after this, or at
                                                       // once when the kubelet says that no pod has it. What could
                                                       // not be told is asked again after this.
  };
  struct Parts {
    journal::Journal& journal;
    journal::Leases& leases;
    cdi::Writer& writer;
    ClaimFiles& files;
    Hardware& hardware;
    ClaimSource& claims;
    ForeignHolders& foreign;
    Preparer& preparer;
    Events& events;
    Metrics& metrics;
  };
  Reconciler(Options options, Parts parts);
  ~Reconciler();

  void SetActive(bool active);
  void Soon();  // A full pass without waiting: the hardware or the journal changed.

  // Before anything is served: claims that the journal lost come back from their CDI files alone, so that their devices
  // are given to nobody else. Whether they still live is asked later, as of all.
  void RestoreLost();

  // What a pass does; for tests.
  void MendFiles();       // CDI files that are missing or stale.
  void FindOrphans();     // Claims that the API server does not know any more.
  void FindStrays();      // CDI files without a record: rebuilt when their claim lives, removed when it does not.
  void ReportRecovery();  // What the journal had to repair.

 private:
  enum class Life : std::uint8_t { kAlive, kGone, kUnknown };

  void Run(const std::stop_token& stop);
  Life LifeOf(const api::PreparedClaim& claim);
  bool UsedByPod(const std::string& uid) const;  // False when the kubelet does not tell.
  void LearnName(const api::PreparedClaim& claim);
  std::vector<cdi::Writer::ClaimFile> Strays() const;
  // Nothing when somebody works on the claim, or it is no stray any more.
  std::optional<journal::Lease> LeaseStray(const std::string& uid) const;
  void Settle(const cdi::Writer::ClaimFile& file);
  void Rebuild(api::PreparedClaim record);
  // The record of a file without one, from the kubelet's list and the hardware.
  std::optional<api::PreparedClaim> Reconstruct(const cdi::Writer::ClaimFile& file) const;

  const Options options_;
  const Parts parts_;
  // Of the pass under way:
  std::vector<kubelet::PodDevices> pods_;
  std::optional<std::vector<std::string>> used_;  // CDI ids that pods have. Nothing when the kubelet does not tell.
  std::map<std::string, std::chrono::steady_clock::time_point> suspects_;  // Orphans, and since when.
  bool unsettled_ = false;  // Something could not be told: no answer, no name, not sure yet.

  std::mutex mutex_;  // Guards everything below.
  std::condition_variable_any changed_;
  bool active_ = false, soon_ = false;

  std::jthread thread_;  // Last: joins first.
};

}  // namespace tessera::driver
