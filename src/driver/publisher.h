// driver/publisher.h: keeps this node's ResourceSlices as they should be.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/resource_slice.h"
#include "base/error.h"
#include "driver/events.h"
#include "driver/metrics.h"
#include "driver/slice_plan.h"
#include "json/value.h"

namespace tessera::driver {

// Where slices are written: the API server (api_objects.h), or a fake. Calls may take as long as the network does.
class SliceStore {
 public:
  virtual ~SliceStore() = default;
  virtual Result<std::string> Version() = 0;  // Of resource.k8s.io.
  virtual Result<api::OwnerReference> Node() = 0;
  // Whether the server takes taints of effect None, which only inform: from Kubernetes 1.35 on.
  virtual Result<bool> TakesInformingTaints() = 0;
  virtual Result<json::Value> Create(const json::Value& slice) = 0;
  virtual Result<json::Value> Update(const std::string& name, const json::Value& slice) = 0;
  virtual Result<void> Delete(const std::string& name, const std::string& uid, const std::string& resource_version) = 0;
};

// Writes on a thread of its own, when the devices changed, when somebody changed or deleted a slice, and again after a
// failure. Safe to call from any thread.
class Publisher {
 public:
  struct Options {
    std::string node_name;
    std::string manager = "tessera-kubelet-plugin";  // Our name in managedFields: the User-Agent's first word.
    std::chrono::milliseconds settle{200};           // After a foreign change: more of them usually follow.
    std::chrono::milliseconds retry_from{250}, retry_to{30'000};
    // A second publisher: this many foreign changes within this time. Then we wait instead of fighting.
    int conflict_after = 4;
    std::chrono::seconds conflict_window{120};
    std::chrono::milliseconds conflict_wait_from{30'000}, conflict_wait_to{300'000};
  };
  Publisher(Options options, SliceStore& store, Events& events, Metrics& metrics);
  ~Publisher();

  // What shall be published. Devices with a taint are withdrawn where the server does not keep taints; taints that only
  // inform are left out then, and where the server does not know them.
  void SetDevices(std::vector<api::Device> devices);
  // Only while this instance is the one that publishes.
  void SetActive(bool active);

  // From the watch over our slices.
  void OnList(std::vector<json::Value> slices);
  void OnChanged(json::Value slice);
  void OnDeleted(json::Value slice);

  // Whether the API server holds what we want.
  bool published() const;
  // Waits until it does. False: not before `deadline`, or another instance publishes.
  bool WaitPublished(std::chrono::steady_clock::time_point deadline) const;
  std::optional<Error> failure() const;  // Why not, as far as known.

 private:
  using Clock = std::chrono::steady_clock;

  void Run(const std::stop_token& stop);
  Result<void> Sync();
  Result<void> Write(const SlicePlan& plan);
  Result<void> Keep(const json::Value& wanted, json::Value stored);
  // The caller holds mutex_:
  void Take(json::Value slice, bool deleted);
  void NoteForeign(const json::Value* slice, std::string_view what);
  void StopFighting();
  void NoteOutcome(const Result<void>& synced);
  void TakeWaiting();
  bool IsOurs(const json::Value& slice) const;
  std::vector<api::ResourceSlice> Wanted(const api::OwnerReference& owner);
  void ReportWithdrawn(std::vector<std::string> devices);
  void ReportDropped(const std::vector<std::string>& fields);

  const Options options_;
  SliceStore& store_;
  Events& events_;
  Metrics& metrics_;
  std::optional<api::OwnerReference> owner_;   // Of the worker alone.
  std::vector<std::string> reported_dropped_;  // Of the worker alone.
  std::vector<std::string> withdrawn_;         // Of the worker alone.

  mutable std::mutex mutex_;  // Guards everything below.
  mutable std::condition_variable_any changed_;
  std::optional<std::vector<api::Device>> devices_;  // Nothing until they are known.
  std::map<std::string, json::Value> stored_;        // By name.
  std::map<std::string, Accepted> accepted_;
  std::deque<Clock::time_point> foreign_;  // When others changed our slices.
  std::string foreign_manager_;
  Clock::time_point not_before_{};  // The next pass.
  Clock::time_point quiet_until_{};
  std::chrono::milliseconds conflict_wait_{0}, backoff_;
  bool active_ = false, listed_ = false, dirty_ = false, published_ = false, taints_kept_ = true;
  // While we write, events wait: one of them may be our own write, seen before its answer.
  bool writing_ = false;
  std::vector<std::pair<json::Value, bool>> waiting_;  // And whether it was deleted.
  bool disturbed_ = false;  // Since the last pass; the kubelet's wipe of many slices is one disturbance.
  std::optional<Error> failure_;

  std::jthread worker_;  // Last: joins first.
};

}  // namespace tessera::driver
