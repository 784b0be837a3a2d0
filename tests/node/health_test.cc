// A GPU falls ill and gets well again: what the kubelet and the scheduler are told of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/health_node.h"

namespace tessera::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Illness {
  const char* name;
  void (*strike)(HealthNode&);
  void (*heal)(HealthNode&);
  const char *health, *words;
  std::vector<std::string> taints;  // Sorted.
};

class HealthSignals : public ::testing::TestWithParam<Illness> {};

TEST_P(HealthSignals, ReachStreamAndSliceAndGoAgain) {
  const Illness& illness = GetParam();
  HealthNode node;
  const auto plugin = node.StartHealthy();
  illness.strike(node);
  EXPECT_TRUE(node.WaitHealth(illness.health, illness.words)) << node.HealthOf("gpu-3").message << plugin->Log();
  EXPECT_TRUE(node.WaitTaints(illness.taints)) << ::testing::PrintToString(node.TaintsOf("gpu-3")) << plugin->Log();
  EXPECT_EQ(node.HealthOf("gpu-2").health, "Healthy") << "nothing of one GPU touches another";
  EXPECT_THAT(node.TaintsOf("gpu-2"), IsEmpty());
  illness.heal(node);
  EXPECT_TRUE(node.WaitHealth("Healthy")) << node.HealthOf("gpu-3").message << plugin->Log();
  EXPECT_TRUE(node.WaitTaints({})) << plugin->Log();
}

INSTANTIATE_TEST_SUITE_P(
    Each, HealthSignals,
    ::testing::Values(
        Illness{"Xid79",
                [](HealthNode& node) { node.LoseVictim(); },
                [](HealthNode& node) { node.ResetVictim(); },
                "Unhealthy",
                "Xid79: ",
                {"gpu.nvidia.com/gpu-lost=:NoSchedule", "gpu.nvidia.com/xid=79:NoSchedule"}},
        Illness{"DeviceNode",
                [](HealthNode& node) { std::filesystem::rename(node.device_node(), node.dir() / "node"); },
                [](HealthNode& node) { std::filesystem::rename(node.dir() / "node", node.device_node()); },
                "Unhealthy",
                "DeviceNodeMissing: ",
                {"gpu.nvidia.com/gpu-lost=:NoSchedule"}},
        Illness{"Ecc",
                [](HealthNode& node) { node.ChangeVictim([](sim::Gpu& gpu) { gpu.ecc.uncorrected_volatile += 2; }); },
                [](HealthNode&) {},
                "Unhealthy",
                "EccUncorrected: ",
                {"gpu.nvidia.com/ecc=EccUncorrected:NoSchedule"}},
        Illness{"RowRemap",
                [](HealthNode& node) { node.ChangeVictim([](sim::Gpu& gpu) { gpu.remapped.failed = true; }); },
                [](HealthNode& node) { node.ChangeVictim([](sim::Gpu& gpu) { gpu.remapped.failed = false; }); },
                "Unhealthy",
                "RowRemapFailed: ",
                {"gpu.nvidia.com/row-remap=RowRemapFailed:NoSchedule"}},
        Illness{"Nvlink",
                [](HealthNode& node) { node.ChangeVictim([](sim::Gpu& gpu) { gpu.links[4].up = false; }); },
                [](HealthNode& node) { node.ChangeVictim([](sim::Gpu& gpu) { gpu.links[4].up = true; }); },
                "Unhealthy",
                "NvlinkDown: ",
                {"gpu.nvidia.com/nvlink=NvlinkDown:NoSchedule"}},
        Illness{"Thermal",
                [](HealthNode& node) {
                  node.ChangeVictim([](sim::Gpu& gpu) {
                    gpu.clocks_event_reasons = nvml::abi::kClocksHardwareSlowdown | nvml::abi::kClocksHardwareThermal;
                  });
                },
                [](HealthNode& node) { node.ChangeVictim([](sim::Gpu& gpu) { gpu.clocks_event_reasons = 1; }); },
                "Healthy",
                "ThermalSlowdown: ",
                {"gpu.nvidia.com/thermal=ThermalSlowdown:None"}},
        Illness{"Verdict",
                [](HealthNode& node) {
                  node.SetVerdict("dcgm.yaml", "{device: 3, state: unusable, reason: diag level 3 failed}");
                },
                [](HealthNode& node) { std::filesystem::remove(node.verdicts() / "dcgm.yaml"); },
                "Unhealthy",
                "diag level 3 failed",
                {"gpu.nvidia.com/verdict=Verdict:NoSchedule"}}),
    [](const auto& illness) { return illness.param.name; });

TEST(HealthOfMig, AFaultOfOneInstanceStaysWithIt) {
  HealthNode node({.profile = "dgx-a100-mig"});
  node.SetPolicy("version: 1\nxids: {95: {severity: unusable}}\n");  // Whatever the driver advises.
  const auto plugin = node.StartHealth();
  ASSERT_TRUE(node.WaitRegistered());
  const auto are = [&](const std::string& health) {
    std::vector<std::string> names;
    for (const auto& [name, device] : node.kubelet().Health(kDriver)) {
      if (device.health == health && name != kNodeName + "/gpu-4") names.push_back(name);  // It has no instances.
    }
    return names;
  };
  ASSERT_TRUE(Eventually([&] { return are("Healthy").size() == 20; })) << plugin->Log();
  const auto machine = node.gpus().store().Read().value();
  const auto gpu = std::ranges::find_if(machine->gpus, [](const sim::Gpu& g) { return g.instances.size() > 1; });
  ASSERT_NE(gpu, machine->gpus.end());
  const sim::GpuInstance& instance = gpu->instances.front();
  ASSERT_TRUE(node.gpus()
                  .store()
                  .Emit({.minor = gpu->minor,
                         .type = nvml::abi::kEventXidCritical,
                         .data = 95,
                         .gpu_instance = instance.id,
                         .compute_instance = instance.compute.front().id})
                  .has_value());
  ASSERT_TRUE(Eventually([&] { return !are("Unhealthy").empty(); })) << plugin->Log();
  EXPECT_THAT(are("Unhealthy"), ElementsAre(HasSubstr("-mig-")));
  EXPECT_EQ(are("Healthy").size(), 19U);
}

TEST(HealthOfTheLost, IsKnownAlsoWhenAScanMissesTheGpuBeforeTheWatcherDoes) {
  HealthNode node;
  const auto plugin = node.StartHealthy();
  node.ChangeVictim([](sim::Gpu& gpu) { gpu.lost = true; });
  (void)node.Prepare(node.MakeClaim("a", {"gpu-99"}));  // Makes it scan.
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "GpuLost: ")) << plugin->Log();
  node.ResetVictim();
  EXPECT_TRUE(node.WaitHealth("Healthy")) << plugin->Log();
}

struct ModeCase {
  const char *name, *mode;
  std::vector<std::string> taints;
};
class HealthModes : public ::testing::TestWithParam<ModeCase> {};

TEST_P(HealthModes, DecideOnTheTaintAndNotOnTheReport) {
  HealthNode node;
  node.SetPolicy(Format("{}\nclasses:\n  lost: {{mode: {}}}\n", kQuickPolicy, GetParam().mode));
  const auto plugin = node.StartHealthy();
  node.LoseVictim();
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "Xid79: ")) << plugin->Log();
  EXPECT_TRUE(node.WaitTaints(GetParam().taints)) << ::testing::PrintToString(node.TaintsOf("gpu-3"));
}

INSTANTIATE_TEST_SUITE_P(
    Each, HealthModes,
    ::testing::Values(ModeCase{"Observe", "observe", {}},
                      ModeCase{
                          "Evict", "evict", {"gpu.nvidia.com/gpu-lost=:NoExecute", "gpu.nvidia.com/xid=79:NoExecute"}}),
    [](const auto& mode) { return mode.param.name; });

TEST(HealthPolicy, IsReadAgainWhenItChangesAndABadOneChangesNothing) {
  HealthNode node;
  const auto plugin = node.StartHealthy();
  node.SetPolicy("version: 1\nclasses: {verdict: {mode: sleep}}\n");
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "HealthPolicyInvalid")) << plugin->Log();
  node.SetVerdict("a.yaml", "{device: 3, state: unusable, reason: bad}");
  EXPECT_TRUE(node.WaitTaints({"gpu.nvidia.com/verdict=Verdict:NoSchedule"})) << plugin->Log();
  node.SetPolicy("version: 1\nclasses: {verdict: {mode: observe}}\n");
  EXPECT_TRUE(node.WaitTaints({})) << plugin->Log();
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "bad"));
}

TEST(HealthPolicy, IgnoresTheXidsOfTheFlag) {
  HealthNode node;
  const auto plugin = node.StartHealthy({"--additional-xids-to-ignore=79,nonsense"});
  node.Xid(79);
  node.SetVerdict("b.yaml", "{device: 3, state: unusable, reason: later}");
  ASSERT_TRUE(node.WaitHealth("Unhealthy", "later"));
  EXPECT_TRUE(node.WaitTaints({"gpu.nvidia.com/verdict=Verdict:NoSchedule"})) << "and no other: " << plugin->Log();
  EXPECT_THAT(plugin->Log(), HasSubstr("nonsense"));
}

TEST(HealthVerdicts, ThatAreWrongAreReportedAndTheOthersCount) {
  HealthNode node;
  node.SetVerdict("bad.yaml", "device: [");
  node.SetVerdict("nobody.yaml", "{device: 99, state: lost, reason: who}");
  node.SetVerdict("good.yaml", "{device: gpu-3, state: unusable, reason: seen}");
  const auto plugin = node.StartHealth();
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "seen")) << plugin->Log();
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "VerdictInvalid")) << plugin->Log();
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "VerdictUnmatched")) << plugin->Log();
}

TEST(HealthBrake, HoldsWhatWouldTakeMostOfTheNode) {
  HealthNode node;
  const auto plugin = node.StartHealthy();
  node.gpus().Update([](sim::Machine& machine) {
    for (sim::Gpu& gpu : machine.gpus) gpu.links[0].up = false;
  });
  EXPECT_TRUE(node.WaitHealth("Healthy", "held back")) << plugin->Log();
  node.SetVerdict("mark.yaml", "{device: 0, state: unusable, reason: mark}");
  ASSERT_TRUE(node.WaitHealth("Unhealthy", "mark", "gpu-0"));
  for (const std::string& taint : node.TaintsOf("gpu-3")) EXPECT_THAT(taint, ::testing::EndsWith(":None"));
}

TEST(HealthIsolation, WithdrawsInsteadOfTaintingSoThatMonitoringOfAllDevicesFits) {
  HealthNode node;
  node.SetPolicy(Format("{}\nisolation: withdraw\n", kQuickPolicy));
  const auto plugin = node.StartHealthy();
  node.SetVerdict("c.yaml", "{device: 3, state: unusable, reason: bad}");
  EXPECT_TRUE(Eventually([&] { return node.PublishedDevices() == 7; })) << plugin->Log();
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "bad")) << "its pods are still told";
  std::filesystem::remove(node.verdicts() / "c.yaml");
  EXPECT_TRUE(Eventually([&] { return node.PublishedDevices() == 8; })) << plugin->Log();
}

TEST(HealthIsolation, WithdrawsWhereTheServerDropsTaintsAndTheLogSaysSo) {
  HealthNode node;
  node.api().SetWriteHook([](standin::Write& write) {
    if (write.resource != "resourceslices") return;
    json::Value* devices = write.object["spec"].as_object().if_contains("devices");
    if (devices == nullptr || !devices->is_array()) return;
    for (json::Value& device : devices->as_array()) device.as_object().erase("taints");
  });
  const auto plugin = node.StartHealthy();
  node.LoseVictim();
  EXPECT_TRUE(Eventually([&] { return node.PublishedDevices() == 7; })) << plugin->Log();
  EXPECT_TRUE(plugin->WaitForLog("Devices are withdrawn")) << plugin->Log();
  node.ResetVictim();
  EXPECT_TRUE(Eventually([&] { return node.PublishedDevices() == 8; })) << plugin->Log();
}

TEST(HealthProbes, AreAboutThePluginAndMetricsAreAboutTheGpus) {
  HealthNode node;
  const auto port = Node::FreePort();
  const auto plugin = node.StartHealthy({Format("--http-endpoint=127.0.0.1:{}", port)});
  node.LoseVictim();
  ASSERT_TRUE(node.WaitTaints({"gpu.nvidia.com/gpu-lost=:NoSchedule", "gpu.nvidia.com/xid=79:NoSchedule"}));
  EXPECT_EQ(Node::HttpGet(port, "/healthz"), "200 ok\n");
  const std::string metrics = Node::HttpGet(port, "/metrics");
  const std::string uuid = node.gpus().store().Read().value()->gpus.at(3).uuid;
  EXPECT_THAT(metrics, HasSubstr(Format(
                           "tessera_device_health_state{{device=\"gpu-3\",uuid=\"{}\",state=\"unhealthy\"}} 1", uuid)));
  EXPECT_THAT(metrics,
              HasSubstr("tessera_device_health_reason{device=\"gpu-3\",reason=\"Xid79\",severity=\"lost\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("tessera_device_health_transitions_total{device=\"gpu-3\",to=\"unhealthy\"} 1"));
  EXPECT_THAT(metrics, HasSubstr(Format("tessera_xids_total{{uuid=\"{}\",xid=\"79\"}} 1", uuid)));
  EXPECT_THAT(metrics, HasSubstr("tessera_device_health_signal_age_seconds{device=\"gpu-0\"} "));
  EXPECT_THAT(metrics, HasSubstr("tessera_health_streams 1"));
}

}  // namespace
}  // namespace tessera::tests
