// driver/preparer.h: the heart: prepares and unprepares claims. Start here.
//
// No lock for the node: a call leases its claim, then the GPUs it touches in a fixed order (journal/leases.h), so claims
// on different GPUs go side by side, also in two processes. Unprepare has threads of its own, and never waits for the
// API server, NVML or a Prepare of another claim.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/work_pool.h"
#include "cdi/writer.h"
#include "driver/claim_files.h"
#include "driver/claim_source.h"
#include "driver/device_faults.h"
#include "driver/events.h"
#include "driver/foreign_holders.h"
#include "driver/hardware.h"
#include "driver/metrics.h"
#include "driver/refusals.h"
#include "journal/journal.h"
#include "journal/leases.h"
#include "kubelet/plugin_server.h"

namespace tessera::driver {

// The names of leases.
std::string ClaimLease(const std::string& uid);
std::string GpuLease(const std::string& uuid);

class Preparer final : public kubelet::ClaimHandler {
 public:
  struct Options {
    std::string node_name;
    std::string boot_id;
    std::chrono::milliseconds hardware_wait{10'000};  // For the first scan, and for one that finds a new device.
    // Whether one Prepare at a time may run on the thread that brings it. Waking another costs as much as the CDI file.
    bool use_callers_thread = false;
    std::optional<api::LocalRun> run = std::nullopt;  // Claims are prepared for it, not for pods.
  };
  // All must outlive it.
  struct Parts {
    journal::Journal& journal;
    journal::Leases& leases;
    ClaimFiles& files;
    Hardware& hardware;
    ClaimSource& claims;
    ForeignHolders& foreign;
    Events& events;
    Metrics& metrics;
    DeviceFaults& faults;
  };
  Preparer(Options options, Parts parts);
  ~Preparer() override;

  void Prepare(std::vector<api::ClaimRef> claims, kubelet::Deadline deadline, kubelet::Done done) override;
  void Unprepare(std::vector<api::ClaimRef> claims, kubelet::Deadline deadline, kubelet::Done done) override;

  // One claim, on the caller's thread.
  Result<std::vector<api::PreparedDevice>> PrepareOne(const api::ClaimRef& claim, kubelet::Deadline deadline);
  Result<void> UnprepareOne(const api::ClaimRef& claim, kubelet::Deadline deadline);

  // Undoes a claim whose lease the caller holds: for reconciling. `why` goes into the log.
  Result<void> Undo(const std::string& uid, std::string_view why);

  // Called after each change of what is prepared, on the thread that changed it. For metrics and the Go driver's
  // checkpoint. Set it before the first call.
  std::function<void()> on_change;

 private:
  class Batch;
  // A claim that its pod can use. Bookkeeping is left, for which the pod need not wait: Finish().
  struct Ready {
    api::ClaimRef claim;
    std::vector<api::PreparedDevice> devices;
    bool is_new = false;  // The journal has it as started.
    journal::Lease lease;
    std::optional<journal::Lease> gpus;
  };

  // What a new Prepare goes by.
  struct Wanted {
    api::ResourceClaim claim;
    std::shared_ptr<const HardwareState> hardware;
  };

  static kubelet::ClaimAnswer AnswerOf(const api::ClaimRef& claim, const Result<Ready>& ready);
  Result<Ready> MakeReady(const api::ClaimRef& claim, kubelet::Deadline deadline);
  void Finish(const Ready& ready);
  Result<Ready> MakeReady(const api::ClaimRef& claim, kubelet::Deadline deadline, PhaseTimer& timer);
  Result<void> Confirm(Ready& ready, const journal::ClaimPtr& record, kubelet::Deadline deadline, PhaseTimer& timer);
  Result<void> SetUpAgain(Ready& ready, const api::PreparedClaim& record, const HardwareState& hardware,
                          kubelet::Deadline deadline, PhaseTimer& timer);
  Result<void> RefuseGone(const api::PreparedClaim& record, const HardwareState& hardware, kubelet::Deadline deadline);
  Result<bool> StillAllocated(const api::PreparedClaim& record, kubelet::Deadline deadline, PhaseTimer& timer);
  Result<Wanted> Read(const api::ClaimRef& ref, kubelet::Deadline deadline, PhaseTimer& timer);
  Result<void> Make(Ready& ready, Wanted& wanted, kubelet::Deadline deadline, PhaseTimer& timer);
  Result<api::PreparedClaim> Plan(Wanted& wanted, kubelet::Deadline deadline, PhaseTimer& timer);
  Result<void> RefuseLost(const api::PreparedClaim& plan) const;
  // The error of devices that a claim cannot be given, told to health first.
  Error Blame(std::vector<DeviceFault> faults, const Error& error, kubelet::Deadline deadline);
  // Answers from refusals_, and remembers there what fails for good. `question` may be costly, so it is a function.
  Result<void> OnlyOnce(const std::function<std::string()>& question, const std::function<Result<void>()>& attempt);
  Result<void> Guard(const api::PreparedClaim& plan, kubelet::Deadline deadline);
  // Whether the other claim is only a leftover: freed in the API, and no pod has it. Then it is undone.
  bool RemoveGhost(const api::PreparedClaim& other, kubelet::Deadline deadline);
  Result<void> Commit(api::PreparedClaim plan, const HardwareState& hardware, PhaseTimer& timer);
  void Report(const api::ClaimRef& claim, Method method, const Error* error);
  void PrepareHere(const api::ClaimRef& claim, kubelet::Deadline deadline, const kubelet::Done& done);

  const Options options_;
  const Parts parts_;

  const HealthWords health_words_ = [this](std::string_view device) { return parts_.faults.Words(device); };
  Refusals refusals_{{}};
  std::mutex failing_mutex_;                    // Guards failing_.
  std::map<std::string, std::string> failing_;  // Claims whose last call failed, by UID, and the code; for "recovered".

  std::atomic<bool> has_callers_thread_ = false;

  // Last: their threads use everything above.
  WorkPool prepares_{{.name = "prepare", .max_threads = 64}};
  WorkPool unprepares_{{.name = "unprepare", .max_threads = 16}};
};

}  // namespace tessera::driver
