// tests/node/health_node.h: a node whose GPUs fall ill, and what the kubelet and the scheduler then know of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "driver/slice_plan.h"
#include "nvml/abi.h"
#include "tests/node/node.h"

namespace tessera::tests {

// The times of docs/health.md made short, so that recovery can be waited for.
inline constexpr const char* kQuickPolicy = R"(
version: 1
xids:
  79: {hold: 1s}
reasons:
  GpuLost: {hold: 1s}
  DeviceNodeMissing: {confirm: 0s, hold: 1s}
  EccUncorrected: {quiet: 1s, hold: 1s}
  RowRemapFailed: {hold: 1s}
  RowRemapPending: {hold: 1s}
  NvlinkDown: {confirm: 0s, hold: 1s}
  ThermalSlowdown: {confirm: 0s, hold: 1s}
)";

class HealthNode : public Node {
 public:
  static constexpr std::size_t kVictim = 3;
  static inline const std::string kDevice = "gpu-3";

  explicit HealthNode(NodeOptions options = {}) : Node(std::move(options)) {
    std::filesystem::create_directories(verdicts());
    SetPolicy(kQuickPolicy);
  }

  std::filesystem::path verdicts() const { return dir() / "verdicts"; }
  std::filesystem::path device_node() {
    return gpus().path() / Format("dev/nvidia{}", gpus().store().Read().value()->gpus.at(kVictim).minor);
  }
  void SetPolicy(const std::string& text) { EXPECT_TRUE(ReplaceFile(dir() / "policy.yaml", text).has_value()); }
  void SetVerdict(const std::string& name, const std::string& text) {
    EXPECT_TRUE(ReplaceFile(verdicts() / name, text).has_value());
  }

  std::unique_ptr<Plugin> StartHealth(std::vector<std::string> extra = {}) {
    extra.insert(extra.begin(), {"--health-policy-file=" + (dir() / "policy.yaml").string(),
                                 "--health-verdicts-dir=" + verdicts().string(), "--health-period=1s"});
    return Start(std::move(extra));
  }
  // Until the kubelet was told of every device that it is well.
  std::unique_ptr<Plugin> StartHealthy(std::vector<std::string> extra = {}) {
    auto plugin = StartHealth(std::move(extra));
    EXPECT_TRUE(WaitRegistered() && WaitPublished(1) && WaitHealth("Healthy")) << plugin->Log();
    return plugin;
  }

  Kubelet::DeviceHealth HealthOf(const std::string& device) const {
    const auto all = kubelet().Health(kDriver);
    const auto found = all.find(kNodeName + "/" + device);
    return found == all.end() ? Kubelet::DeviceHealth{} : found->second;
  }
  // Whether the kubelet comes to know this, and a message that holds `words`.
  bool WaitHealth(const std::string& health, const std::string& words = "", const std::string& device = kDevice) const {
    return Eventually([&] {
      const auto now = HealthOf(device);
      return now.health == health && (words.empty() ? now.message.empty() : now.message.contains(words));
    });
  }

  // As "key=value:effect", sorted.
  std::vector<std::string> TaintsOf(const std::string& device) {
    std::vector<std::string> taints;
    for (const json::Value& slice : api().List(kSlicesPath)) {
      const json::Value* devices = slice.at("spec").as_object().if_contains("devices");
      if (devices == nullptr) continue;
      for (const json::Value& each : devices->as_array()) {
        const json::Value* list = each.as_object().if_contains("taints");
        if (driver::TextAt(each, {"name"}) != device || list == nullptr) continue;
        for (const json::Value& taint : list->as_array()) {
          taints.push_back(Format("{}={}:{}", driver::TextAt(taint, {"key"}), driver::TextAt(taint, {"value"}),
                                  driver::TextAt(taint, {"effect"})));
        }
      }
    }
    std::ranges::sort(taints);
    return taints;
  }
  bool WaitTaints(const std::vector<std::string>& taints, const std::string& device = kDevice) {
    return Eventually([&] { return TaintsOf(device) == taints; });
  }
  std::size_t SliceWrites() {
    return api().seen().Count(
        [](const standin::Seen& seen) { return seen.method != "GET" && seen.target.contains("resourceslices"); });
  }

  void ChangeVictim(const std::function<void(sim::Gpu&)>& change) {
    gpus().Update([&](sim::Machine& machine) { change(machine.gpus.at(kVictim)); });
  }
  void Xid(std::uint64_t code) {
    const unsigned minor = gpus().store().Read().value()->gpus.at(kVictim).minor;
    EXPECT_TRUE(gpus().store().Emit({.minor = minor, .type = nvml::abi::kEventXidCritical, .data = code}).has_value());
  }
  // Xid 79 as it is on a real machine: after it nothing answers any more.
  void LoseVictim() {
    ChangeVictim([](sim::Gpu& gpu) { gpu.lost = true; });
    Xid(79);
  }
  void ResetVictim() {
    ChangeVictim([](sim::Gpu& gpu) { gpu.lost = false; });
  }
};

}  // namespace tessera::tests
