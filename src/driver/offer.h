// driver/offer.h: what this node offers to the scheduler: the devices of the last scan, as far as nobody else holds them.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "driver/events.h"
#include "driver/foreign_holders.h"
#include "driver/hardware.h"
#include "driver/health_watch.h"
#include "driver/metrics.h"
#include "driver/publisher.h"
#include "journal/journal.h"

namespace tessera::driver {

class Offer {
 public:
  // All must outlive it.
  struct Parts {
    const Hardware& hardware;
    ForeignHolders& foreign;
    journal::Journal& journal;
    Publisher& publisher;
    Events& events;
    Metrics& metrics;
    const HealthWatch& health;
  };
  Offer(std::string node_name, Parts parts) : node_name_(std::move(node_name)), parts_(parts) {}

  // Hands what is known now to the publisher, which writes what differs. From any thread.
  void Publish();

  // After each scan, on the thread that scans. True for the first good one, and when the driver is back.
  bool NoteScan();

  // Claims of the Go driver may hold devices under other names than we publish; with such claims a change of what is
  // prepared changes what is offered.
  void FollowClaims() { follows_claims_ = true; }
  void OnPreparedChange();  // From any thread.

  // Looks, every few seconds, which GPUs device-plugin pods hold (the kubelet knows), and which local runs have. Of the
  // main thread alone.
  void LookForForeigners();

 private:
  void LookForRuns();
  std::vector<api::Device> Devices(const device::Snapshot& snapshot);
  void ReportConflicts(const std::vector<ForeignHolder>& holders);

  const std::string node_name_;
  const Parts parts_;
  std::mutex mutex_;
  std::vector<api::Device> published_;  // Guarded by mutex_: what the publisher was given last.
  std::atomic<int> failed_scans_ = -1;  // In a row. -1: none was made yet.
  std::atomic<bool> follows_claims_ = false;
  std::chrono::steady_clock::time_point next_look_{};
  std::vector<std::string> runs_;  // Claims of local runs at the last look.
};

}  // namespace tessera::driver
