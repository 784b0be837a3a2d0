// driver/test_parts.h: what tests of this module share: small machines, claims, and fakes for the API server.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "api/resource_claim.h"
#include "base/text.h"
#include "driver/claim_source.h"
#include "driver/device_faults.h"
#include "driver/events.h"
#include "driver/hardware.h"

namespace tessera::driver {

inline constexpr std::string_view kNode = "node-a";

inline device::Device TestGpu(unsigned minor) {
  device::Device device;
  device.name = Format("gpu-{}", minor);
  device.gpu.index = device.gpu.minor = minor;
  device.gpu.uuid = Format("GPU-00000000-0000-0000-0000-00000000000{}", minor);
  device.gpu.bus_id = Format("0000:0{}:00.0", minor);
  device.gpu.product_name = "NVIDIA Test";
  return device;
}

inline device::Device TestMig(unsigned minor, unsigned gi, unsigned start, unsigned size) {
  device::Device device = TestGpu(minor);
  device.name = Format("gpu-{}-mig-1g10gb-19-{}", minor, start);
  device.mig = device::Mig{.uuid = Format("MIG-{}-{}", minor, gi),
                           .profile = "1g.10gb",
                           .gpu_instance = gi,
                           .compute_instance = 0,
                           .profile_id = 19,
                           .placement_start = start,
                           .placement_size = size};
  return device;
}

// Two full GPUs (0, 1) and one with two MIG devices (2). Without files of a driver: roots are where a test puts them.
inline device::Snapshot TestSnapshot() {
  device::Snapshot snapshot;
  snapshot.driver_version = "580.1.2";
  snapshot.devices = {TestGpu(0), TestGpu(1), TestMig(2, 7, 0, 1), TestMig(2, 8, 1, 1)};
  snapshot.withheld = {
      {.name = "gpu-5", .uuid = "", .product_name = "", .code = "GpuUnreadable", .reason = "it fell off the bus"}};
  return snapshot;
}

inline cdi::Spec TestBase() {
  return {.kind = "k8s.gpu.nvidia.com/base",
          .devices = {{.name = "driver", .edits = {.env = {"NVIDIA_VISIBLE_DEVICES=void"}}}},
          .edits = {.env = {"A=b"}}};
}

inline std::shared_ptr<const HardwareState> TestState(device::Snapshot snapshot = TestSnapshot(),
                                                      cdi::Roots roots = {}) {
  return MakeHardwareState(std::make_shared<const device::Snapshot>(std::move(snapshot)), std::move(roots),
                           std::make_shared<const cdi::Spec>(TestBase()), "/hook");
}

inline api::ResourceClaim TestClaim(const std::string& name, std::vector<api::AllocationResult> results) {
  api::ResourceClaim claim{.ref = {"ml", name, "uid-" + name}, .reserved_for = {"ml/pod-" + name}};
  claim.allocation.emplace().results = std::move(results);
  return claim;
}

inline api::AllocationResult Gets(std::string device, std::string request = "gpus") {
  return {.request = std::move(request),
          .driver = "gpu.nvidia.com",
          .pool = std::string(kNode),
          .device = std::move(device)};
}

// Claims by "namespace/name"; those that are not there are not found. Faults are given once each, first.
class FakeClaims final : public ClaimSource {
 public:
  Result<api::ResourceClaim> Get(const api::ClaimRef& claim, std::chrono::steady_clock::time_point, Urgency) override {
    const std::lock_guard lock(mutex_);
    ++gets_;
    if (!faults_.empty()) {
      Error fault = std::move(faults_.front());
      faults_.pop_front();
      return std::unexpected(std::move(fault));
    }
    const auto found = claims_.find(api::ToText(claim));
    if (found == claims_.end()) return BadConfig("ApiNotFound", "not found");
    return found->second;
  }
  void Put(const api::ResourceClaim& claim) {
    const std::lock_guard lock(mutex_);
    claims_[api::ToText(claim.ref)] = claim;
  }
  void Remove(const api::ClaimRef& claim) {
    const std::lock_guard lock(mutex_);
    claims_.erase(api::ToText(claim));
  }
  void Fail(Error error) {
    const std::lock_guard lock(mutex_);
    faults_.push_back(std::move(error));
  }
  int gets() const {
    const std::lock_guard lock(mutex_);
    return gets_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, api::ResourceClaim> claims_;
  std::deque<Error> faults_;
  int gets_ = 0;
};

// Keeps Events as "Reason: message".
class FakeEvents final : public EventSink {
 public:
  Result<std::string> Create(const std::string&, const json::Value& event) override {
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::string(event.at("reason").as_string()) + ": " + std::string(event.at("message").as_string()));
    events_.push_back(event);
    return std::string(event.at("metadata").at("name").as_string());
  }
  Result<void> Patch(const std::string&, const std::string& name, const json::Value& patch) override {
    const std::lock_guard lock(mutex_);
    if (!patchable_) return BadConfig("ApiNotFound", "not found");
    patches_.push_back(Format("{}={}", name.substr(0, name.find('.')), json::PrintJson(patch.at("count"))));
    return {};
  }
  void Expire() { patchable_ = false; }
  std::vector<std::string> texts() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }
  std::vector<json::Value> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::vector<std::string> patches() const {
    const std::lock_guard lock(mutex_);
    return patches_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_, patches_;
  std::vector<json::Value> events_;
  bool patchable_ = true;
};

// Health's side: knows what a test says, and keeps what it is told.
class FakeFaults final : public DeviceFaults {
 public:
  std::optional<Error> Lost(std::string_view device) const override {
    const std::lock_guard lock(mutex_);
    const auto found = lost_.find(device);
    return found == lost_.end() ? std::nullopt : std::optional(found->second);
  }
  std::string Words(std::string_view device) const override {
    const std::lock_guard lock(mutex_);
    return lost_.contains(device) ? "lost" : words_;
  }
  std::vector<DeviceFault> Tell(std::vector<DeviceFault> faults, Deadline) override {
    const std::lock_guard lock(mutex_);
    for (const DeviceFault& fault : faults) told_.push_back(Format("{}: {}", fault.device.name, fault.error.code()));
    return faults;
  }
  void Lose(const std::string& device, const Error& error) {
    const std::lock_guard lock(mutex_);
    lost_.emplace(device, error);
  }
  void SetWords(std::string words) {
    const std::lock_guard lock(mutex_);
    words_ = std::move(words);
  }
  std::vector<std::string> told() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Error, std::less<>> lost_;
  std::string words_;
  std::vector<std::string> told_;
};

}  // namespace tessera::driver
