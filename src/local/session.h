// local/session.h: a claim's whole life on one machine, without a cluster. Start here.
//
//   TESSERA_ASSIGN(const auto session, local::Session::Open(options));       // looks at the GPUs
//   TESSERA_ASSIGN(const auto refusal, session->Acquire(claims, classes));   // allocates and prepares
//   …                                                                         // the command runs
//                                                                             // ~Session: unprepares
//
// Claims are prepared by the plugin's own code and stand in the same kind of journal; where a plugin is on this machine,
// in its own. Whether a run still lives is told by a lease, which the kernel drops when it dies: the next one cleans up.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/plan.h"
#include "cdi/spec.h"
#include "cdi/writer.h"
#include "driver/claim_files.h"
#include "driver/device_faults.h"
#include "driver/events.h"
#include "driver/foreign_holders.h"
#include "driver/hardware.h"
#include "driver/inventory_loop.h"
#include "driver/metrics.h"
#include "driver/preparer.h"
#include "health/report.h"
#include "journal/journal.h"
#include "journal/leases.h"
#include "local/machine_offer.h"
#include "local/own_claims.h"
#include "local/places.h"
#include "local/runtime.h"

namespace tessera::local {

// Of one thread.
class Session {
 public:
  struct Options {
    Places places;
    // Where devices are leased against runs of other users, whose journals are their own. Empty: nowhere.
    std::filesystem::path machine_leases;
    std::string node_name;  // Also the pool's name.
    std::vector<driver::DriverRoot> driver_roots;
    std::filesystem::path sysfs = "/sys", procfs = "/proc";
    std::filesystem::path pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
    std::string hook_path;  // The hook program, for containers of images.
    // What is known of the devices' health; its taints keep claims away. May be empty: nothing is known.
    std::function<std::vector<health::DeviceHealth>(const device::Snapshot&)> health;
    std::vector<cdi::Spec> extra;  // Given to the command beside its devices.
    Runtime runtime = Runtime::kNone;
    std::chrono::seconds patience{60};  // With a driver that hangs, and with others that are at work.
  };
  // Reads the hardware. What runs that died have left is undone.
  static Result<std::unique_ptr<Session>> Open(Options options);
  ~Session();  // Release()

  // All claims together or none. Nothing is held when it refuses or fails.
  Result<std::optional<Refusal>> Acquire(std::vector<alloc::Claim> claims, const alloc::Classes& classes);
  // Succeeds when nothing is held. What cannot be undone now is undone by the next run.
  void Release();

  // Of what is held:
  std::vector<api::PreparedDevice> devices() const;
  Result<std::vector<cdi::Spec>> Specs() const;  // The claims' own, with the driver's files.
  // Whether container runtimes look for CDI files where the specs are, so that a CDI id is enough.
  bool AllRuntimesFindSpecs() const { return IsForAllRuntimes(options_.places.cdi); }

  // Whoever inherits these keeps the devices when this process is killed (journal::Lease::descriptor).
  std::vector<int> lifelines() const;

  const std::string& container() const { return container_; }        // Its name.
  const std::filesystem::path& scratch() const { return scratch_; }  // For a bundle; removed with what is held.
  std::filesystem::path runtime_root() const { return RuntimeRoot(options_.places); }
  const cdi::Roots& roots() const { return hardware_.state()->roots; }

 private:
  struct NoEvents final : driver::EventSink {
    Result<std::string> Create(const std::string&, const json::Value&) override { return std::string(); }
    Result<void> Patch(const std::string&, const std::string&, const json::Value&) override { return {}; }
  };
  // The plugin watches devices and taints them. A run only tells its user what it finds.
  struct NoWatch final : driver::DeviceFaults {
    std::optional<Error> Lost(std::string_view) const override { return std::nullopt; }
    std::string Words(std::string_view) const override { return {}; }
    std::vector<driver::DeviceFault> Tell(std::vector<driver::DeviceFault> faults, Deadline) override { return faults; }
  };
  struct Held {
    api::ClaimRef claim;
    std::vector<api::PreparedDevice> devices;
    journal::Lease life;
    std::vector<journal::Lease> machine;  // Of its devices.
  };

  explicit Session(Options options);
  static std::filesystem::path RuntimeRoot(const Places& places) { return places.state / "runtime"; }
  static std::filesystem::path ScratchOf(const Places& places, const std::string& container) {
    return places.state / "containers" / container;
  }
  std::chrono::steady_clock::time_point Deadline() const {
    return std::chrono::steady_clock::now() + options_.patience;
  }
  Result<void> ReadHardware();
  void ReleaseDead();
  bool StopContainer(const api::LocalRun& run) const;
  std::vector<Holder> HeldByOthers();
  Result<void> Prepare(const alloc::Claim& claim, const api::Allocation& allocation);
  Result<void> LeaseDevices(Held& held);

  const Options options_;
  const std::string container_;
  const std::filesystem::path scratch_;
  driver::Metrics metrics_;
  NoEvents no_events_;
  driver::Events events_;
  std::unique_ptr<journal::Journal> journal_;
  journal::Leases leases_, machine_leases_;
  cdi::Writer writer_;
  driver::ClaimFiles files_;
  driver::Hardware hardware_;
  driver::ForeignHolders foreign_;
  OwnClaims claims_;
  NoWatch no_watch_;
  driver::Preparer preparer_;
  std::map<std::string, Held> held_;  // By UID.
};

}  // namespace tessera::local
