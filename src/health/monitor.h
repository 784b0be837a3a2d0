// health/monitor.h: the health of a node's devices. Start here.
//
//   vitals, every few seconds ─┐                                        ┌─► report(): state, reasons, message, taints
//   events, as they come ──────┤  signals ─► reasons of each GPU ─►     │
//   verdicts of others ────────┼─ look.h     reason.h, policy.h    Tick ├─► what changed
//   findings of Prepare ───────┘             the brake                  └─► Save(): state_file.h
//
// Pure: no threads, no files, no clock; the caller feeds it, and calls Tick() after feeding and at least once a second.
// Not thread-safe. Nothing of one GPU ever touches another, but for the brake, which only holds back.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/snapshot.h"
#include "health/look.h"
#include "health/policy.h"
#include "health/reason.h"
#include "health/report.h"
#include "health/saved.h"
#include "health/signal.h"
#include "health/verdict.h"
#include "nvml/vitals.h"

namespace tessera::health {

inline constexpr std::size_t kMaxGpus = 256;           // Of which anything is remembered; more are not looked at.
inline constexpr std::size_t kMaxReasonsPerGpu = 64;   // Beyond it, a new one must be worse than one that is there.
inline constexpr std::chrono::hours kForgetAfter{24};  // A GPU that is in no snapshot and of which nothing is heard.

// A device whose report differs from the one before. Equal states: another reason, message or taint.
struct Change {
  std::string device;
  State from = State::kHealthy, to = State::kHealthy;
  bool operator==(const Change&) const = default;
};

class Monitor {
 public:
  explicit Monitor(Policy policy = {}) : policy_(std::move(policy)) {}

  // What the node has now. Devices of a GPU that has vanished are still reported while something is known against it:
  // their pods want to know.
  void SetDevices(const device::Snapshot& snapshot, Moment now);
  void SetPolicy(Policy policy);
  const Policy& policy() const { return policy_; }

  void Observe(const nvml::MachineVitals& vitals, Moment now);
  // False when the event names no GPU: then only the next look can say which one it was.
  bool Observe(const nvml::GpuEvent& event, Moment now);
  // What something else found: Prepare that meets a lost GPU, a device node that is missing. A condition stays until
  // it is reported absent, or until the vitals say so.
  void Observe(const Signal& signal, Moment now);
  // All that are in force; the same set again changes nothing. They are not saved: read them before the first Tick().
  void SetVerdicts(std::vector<Verdict> verdicts) { verdicts_ = std::move(verdicts); }
  // The GPU was reset in a way that vitals need not show: its driver was loaded again, somebody reset it for us.
  void NoteReset(std::string_view uuid);

  // Lets time pass and draws the conclusions.
  std::vector<Change> Tick(Moment now);

  // As of the last Tick(), in the snapshot's order.
  const std::vector<DeviceHealth>& report() const { return report_; }
  const DeviceHealth* Find(std::string_view device) const;  // Null when it is not known.
  // Files of verdicts that name no device of this node.
  const std::vector<std::string>& unmatched_verdicts() const { return unmatched_; }

  // For the state file. What was saved in another boot is restored without what a reboot clears.
  SavedHealth Save(const std::string& boot_id, Moment now) const;
  void Restore(const SavedHealth& saved, const std::string& boot_id, Moment now);

 private:
  struct Gpu {
    std::string product;
    bool in_snapshot = false;
    std::optional<std::chrono::system_clock::time_point> looked;  // Since we started.
    bool serves_advice = false;
    std::chrono::steady_clock::time_point last_heard;  // Or known for the first time.
    Trail trail;
    std::map<ReasonKey, Reason> reasons;
  };
  struct Device {
    std::string name;
    Place place;
    std::string uuid;  // Its own.
    unsigned index = 0;
    std::string bus_id;
    bool in_snapshot = true;
  };

  std::vector<std::string> InstancesAt(const Place& place) const;
  void DropDestroyedInstances();
  Gpu* FindOrAdd(const std::string& uuid, Moment now);
  Rule RuleOf(const Gpu& gpu, const ReasonKey& key) const;
  bool BlamesInstance(const Gpu& gpu, std::chrono::steady_clock::time_point since) const;
  void See(Gpu& gpu, const Signal& signal, Moment now);
  void Add(Gpu& gpu, const ReasonKey& key, Reason reason);
  void Prove(Gpu& gpu, const Look& look, Moment now);
  const Device* Resolve(const Verdict& verdict) const;
  void ApplyVerdicts(Moment now);
  void Repaired(const Verdict& verdict, const Device& device);
  void NoticeSilence(Moment now);
  void Forget(Moment now);
  void Stand(Moment now);
  std::string BrakeText(Kind kind) const;
  DeviceHealth ReportOf(const Device& device) const;

  Policy policy_;
  std::map<std::string, Gpu, std::less<>> gpus_;  // By UUID.
  std::string driver_version_;
  std::vector<Device> devices_;
  std::vector<Verdict> verdicts_;
  std::vector<std::string> unmatched_;
  std::vector<DeviceHealth> report_;
};

}  // namespace tessera::health
