// How a claim's devices are, told in the claim: status.devices, Events, and what stays after the claim's end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "driver/slice_plan.h"
#include "health/state_file.h"
#include "tests/node/health_node.h"

namespace tessera::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A node on whose gpu-3 somebody may pass a verdict.
class StatusNode : public HealthNode {
 public:
  using HealthNode::HealthNode;

  void Sicken() { SetVerdict("dcgm.yaml", "{device: 3, state: unusable, reason: diag failed}"); }
  void Heal() const { std::filesystem::remove(verdicts() / "dcgm.yaml"); }
  std::unique_ptr<Plugin> StartWatching() {
    auto plugin = StartHealth();
    EXPECT_TRUE(WaitRegistered() && WaitPublished(1)) << plugin->Log();
    return plugin;
  }

  // Two claims can have one GPU when the scheduler counted out shares of it.
  Kubelet::Claim MakeShare(const std::string& name, const std::string& share) {
    standin::ClaimOptions options{.name = name};
    options.devices = {{.pool = kNodeName, .device = "gpu-3", .share_id = share}};
    return MakeClaim(options);
  }
  json::Array Devices(const Kubelet::Claim& claim) {
    const auto object = api().Get("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/" + claim.name);
    const json::Value* devices = object ? object->at("status").as_object().if_contains("devices") : nullptr;
    return devices == nullptr ? json::Array() : devices->as_array();
  }
  // A field of a condition of the claim's first device; empty when there is none.
  std::string Condition(const Kubelet::Claim& claim, const std::string& type, const std::string& field) {
    for (const json::Value& device : Devices(claim)) {
      for (const json::Value& condition : device.at("conditions").as_array()) {
        if (driver::TextAt(condition, {"type"}) == type) return driver::TextAt(condition, {field});
      }
    }
    return "";
  }
  bool WaitHealthy(const Kubelet::Claim& claim, const std::string& status) {
    return Eventually([&] { return Condition(claim, "Healthy", "status") == status; });
  }
  std::size_t StatusWrites() {
    return api().seen().Count([](const standin::Seen& seen) { return seen.method == "PATCH" && IsStatus(seen); });
  }
  static bool IsStatus(const standin::Seen& seen) { return seen.target.contains("/status?"); }
  std::vector<health::PastClaim> History() const {
    return health::ReadHistory(plugin_dir() / health::kHistoryFile).value().claims;
  }
};

TEST(ClaimStatus, ASharedGpusIllnessAndRecoveryAreInBothClaimsAndInEvents) {
  StatusNode node;
  const auto plugin = node.StartWatching();
  const auto a = node.MakeShare("a", "00000000-0000-0000-0000-00000000000a");
  const auto b = node.MakeShare("b", "00000000-0000-0000-0000-00000000000b");
  for (const auto& claim : {a, b}) {
    ASSERT_TRUE(node.Prepare(claim).ok());
    ASSERT_TRUE(node.WaitHealthy(claim, "True")) << plugin->Log();
    EXPECT_EQ(node.Condition(claim, "Ready", "status"), "True");
    EXPECT_THAT(driver::TextAt(node.Devices(claim).at(0), {"data", "uuid"}), HasSubstr("GPU-"));
    EXPECT_THAT(driver::TextAt(node.Devices(claim).at(0), {"shareID"}), HasSubstr(claim.name));
  }
  const std::string began = node.Condition(a, "Healthy", "lastTransitionTime");
  std::this_thread::sleep_for(std::chrono::seconds(1));  // The times of conditions have no fractions.
  node.Sicken();
  for (const auto& claim : {a, b}) {
    ASSERT_TRUE(node.WaitHealthy(claim, "False")) << plugin->Log();
    EXPECT_EQ(node.Condition(claim, "Healthy", "reason"), "Verdict");
    EXPECT_THAT(node.Condition(claim, "Healthy", "message"), HasSubstr("diag failed"));
    EXPECT_TRUE(node.WaitForEvent(claim.name, "Verdict"));
  }
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "Verdict"));
  const std::string fell = node.Condition(a, "Healthy", "lastTransitionTime");
  EXPECT_GT(fell, began);
  node.Heal();
  for (const auto& claim : {a, b}) {
    ASSERT_TRUE(node.WaitHealthy(claim, "True")) << plugin->Log();
    EXPECT_TRUE(node.WaitForEvent(claim.name, "DeviceRecovered"));
  }
  EXPECT_GE(node.Condition(a, "Healthy", "lastTransitionTime"), fell);
  EXPECT_EQ(node.StatusWrites(), 6U) << "each change is one write a claim";
}

TEST(ClaimStatus, OtherDriversEntriesStay) {
  StatusNode node;
  const auto plugin = node.StartWatching();
  standin::ClaimOptions options{.name = "a"};
  options.devices = {{.pool = kNodeName, .device = "gpu-3"},
                     {.request = "nic", .driver = "net.example.com", .pool = "p", .device = "eth0"}};
  const auto claim = node.MakeClaim(options);
  const json::Value theirs{{"driver", "net.example.com"}, {"pool", "p"}, {"device", "eth0"}};
  ASSERT_TRUE(node.api()
                  .Patch("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/a",
                         json::Object{{"status", json::Object{{"devices", json::Array{theirs}}}}})
                  .has_value());
  ASSERT_TRUE(node.Prepare(claim).ok());
  ASSERT_TRUE(Eventually([&] { return node.Devices(claim).size() == 2; })) << plugin->Log();
  EXPECT_EQ(node.Devices(claim).at(0), theirs);
}

TEST(ClaimStatus, IsWrittenInTheVersionThatTheServerServes) {
  for (const std::string version : {"v1beta1", "v1beta2"}) {
    StatusNode node({.versions = {version}});
    const auto plugin = node.StartWatching();
    const auto claim = node.MakeClaim("a", {"gpu-3"});
    ASSERT_TRUE(node.Prepare(claim).ok());
    EXPECT_TRUE(node.WaitHealthy(claim, "True")) << plugin->Log();
  }
}

TEST(ClaimStatus, AServerThatKeepsNoEntriesIsToldOfAndLeftAlone) {
  StatusNode node;
  node.api().SetWriteHook([](standin::Write& write) {
    if (write.resource == "resourceclaims") write.object["status"].as_object().erase("devices");
  });
  const auto plugin = node.StartWatching();
  for (const std::string name : {"a", "b"})
    ASSERT_TRUE(node.Prepare(node.MakeClaim(name, {name == "a" ? "gpu-3" : "gpu-4"})).ok());
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "ClaimStatusDropped")) << plugin->Log();
  node.Sicken();
  EXPECT_TRUE(node.WaitForEvent("a", "Verdict"));
  EXPECT_EQ(node.StatusWrites(), 1U);
}

TEST(ClaimStatus, WhatHappensWhileTheServerIsAwayIsWrittenWhenItIsBack) {
  StatusNode node;
  const auto plugin = node.StartWatching();
  const auto claim = node.MakeClaim("a", {"gpu-3"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  ASSERT_TRUE(node.WaitHealthy(claim, "True"));
  node.api().Pause();
  node.Sicken();
  ASSERT_TRUE(Eventually([&] { return node.kubelet().Health(kDriver)[kNodeName + "/gpu-3"].health == "Unhealthy"; }))
      << plugin->Log();
  ASSERT_TRUE(node.api().Resume().has_value());
  EXPECT_TRUE(node.WaitHealthy(claim, "False")) << plugin->Log();
}

TEST(ClaimStatus, ARestartWritesNothingThatIsThere) {
  StatusNode node;
  auto plugin = node.StartWatching();
  const auto claim = node.MakeClaim("a", {"gpu-3"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  ASSERT_TRUE(node.WaitHealthy(claim, "True"));
  const json::Array before = node.Devices(claim);
  const std::size_t writes = node.StatusWrites();
  plugin->Signal(SIGKILL);
  plugin->Wait();
  plugin = node.StartWatching();
  const auto second = node.MakeClaim("b", {"gpu-4"});  // Is written after the first was compared: by UID or by time.
  // The kubelet may still be calling the dead one.
  ASSERT_TRUE(Eventually([&] { return node.Prepare(second).ok(); })) << plugin->Log();
  ASSERT_TRUE(node.WaitHealthy(second, "True"));
  EXPECT_EQ(node.Devices(claim), before);
  EXPECT_EQ(node.StatusWrites(), writes + 1);
}

TEST(ClaimStatus, AfterTheEndHealthIsInClaimAndHistoryAndSurvivesARestart) {
  StatusNode node;
  auto plugin = node.StartWatching();
  const auto claim = node.MakeClaim("a", {"gpu-3"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  node.Sicken();
  ASSERT_TRUE(node.WaitHealthy(claim, "False")) << plugin->Log();
  ASSERT_TRUE(node.Unprepare(claim).ok());
  EXPECT_TRUE(Eventually([&] { return node.Condition(claim, "Ready", "status") == "False"; })) << plugin->Log();
  EXPECT_EQ(node.Condition(claim, "Healthy", "reason"), "Verdict");
  plugin->Signal(SIGTERM);
  EXPECT_EQ(plugin->Wait(), 0);
  plugin = node.StartWatching();
  ASSERT_THAT(node.History(), SizeIs(1));
  EXPECT_EQ(node.History()[0].devices.at(0).health, health::Health::kUnhealthy);
  node.SetPolicy("version: 1\nhistory: 0s\n");
  EXPECT_TRUE(Eventually([&] { return node.History().empty(); })) << "it expires: " << plugin->Log();
}

}  // namespace
}  // namespace tessera::tests
