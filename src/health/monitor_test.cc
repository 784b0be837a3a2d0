#include "health/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "health/watched_node.h"

namespace tessera::health {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Monitor, AGoodNodeIsHealthyAfterTheFirstLook) {
  Monitor monitor;
  monitor.SetDevices(FullGpus(2), At(seconds{0}));
  (void)monitor.Tick(At(seconds{0}));
  ASSERT_THAT(monitor.report(), SizeIs(2));
  EXPECT_EQ(monitor.report()[0].health, Health::kUnknown);
  monitor.Observe(MachineOf({GoodVitals(0), GoodVitals(1)}), At(seconds{1}));
  EXPECT_THAT(monitor.Tick(At(seconds{1})), SizeIs(2));
  EXPECT_EQ(monitor.report()[0].health, Health::kHealthy);
  EXPECT_EQ(monitor.report()[1].message, "");
  EXPECT_EQ(monitor.report()[1].looked, At(seconds{1}).wall);
  EXPECT_THAT(monitor.Tick(At(seconds{2})), IsEmpty()) << "nothing changed";
}

TEST(Monitor, ALostGpuIsUnhealthyAtOnceAndNothingOfItTouchesTheOther) {
  Node node(FullGpus(2));
  EXPECT_THAT(node.Xid(0, 79), ElementsAre(Change{"gpu-0", State::kHealthy, State::kUnhealthy}));
  EXPECT_EQ(node.Of("gpu-0").health, Health::kUnhealthy);
  EXPECT_EQ(node.Of("gpu-0").severity, Severity::kLost);
  EXPECT_EQ(node.Of("gpu-0").since, node.now().wall);
  EXPECT_THAT(node.Of("gpu-0").taints, ElementsAre(api::Taint{"gpu.nvidia.com/xid", "79", "NoSchedule"}));
  EXPECT_EQ(node.StateOf("gpu-1"), State::kHealthy);
  EXPECT_THAT(node.Of("gpu-1").taints, IsEmpty());
}

// What is bad, how it is judged at once and after a long time, and what makes it good again.
TEST(Monitor, EveryReasonComesCountsAndGoes) {
  struct Case {
    std::string_view name;
    std::function<void(nvml::GpuVitals&)> bad;
    std::string code;
    State first, confirmed;
    seconds confirm;
    seconds good_for;  // Until it is healthy again.
  };
  const std::vector<Case> cases{
      {"remap pending", [](auto& v) { v.remap_pending = true; }, "RowRemapPending", State::kSuspect, State::kSuspect,
       seconds{0}, seconds{30}},
      {"remap failed", [](auto& v) { v.remap_failed = true; }, "RowRemapFailed", State::kUnhealthy, State::kUnhealthy,
       seconds{0}, seconds{60}},
      {"link down", [](auto& v) { v.links[0].active = false; }, "NvlinkDown", State::kSuspect, State::kUnhealthy,
       seconds{10}, seconds{60}},
      {"thermal", [](auto& v) { v.slowdown_reasons = 0x40; }, "ThermalSlowdown", State::kSuspect, State::kSuspect,
       seconds{60}, seconds{60}},
      {"PCIe", [](auto& v) { v.pcie_width = 4; }, "PcieDegraded", State::kSuspect, State::kSuspect, seconds{60},
       seconds{60}},
      {"advice", [](auto& v) { v.recovery_action = 1; }, "RecoveryAction", State::kUnhealthy, State::kUnhealthy,
       seconds{0}, seconds{30}},
      {"lost", [](auto& v) { v.lost = true; }, "GpuLost", State::kUnhealthy, State::kUnhealthy, seconds{0},
       seconds{60}},
      {"silent", [](auto& v) { v.silent = true; }, "GpuSilent", State::kSuspect, State::kUnhealthy, seconds{30},
       seconds{30}},
      {"fabric", [](auto& v) { v.fabric = {.state = 3, .status = 1}; }, "FabricFailed", State::kSuspect,
       State::kUnhealthy, seconds{10}, seconds{60}},
      // Counters: bad once, then quiet for ten minutes, and the proof holds for a minute.
      {"uncorrected", [](auto& v) { v.ecc_uncorrected = *v.ecc_uncorrected + 1; }, "EccUncorrected", State::kUnhealthy,
       State::kUnhealthy, seconds{0}, minutes{11} - kPoll},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Node node(FullGpus(3));
    node.gpus[1].recovery_action = 0;
    node.gpus[1].fabric = {.state = 3};
    node.Look();
    const nvml::GpuVitals good = node.gpus[1];
    c.bad(node.gpus[1]);
    node.Look();
    EXPECT_EQ(node.StateOf("gpu-1"), c.first);
    EXPECT_THAT(node.Codes("gpu-1"), ElementsAre(c.code));
    node.Pass(c.confirm);
    EXPECT_EQ(node.StateOf("gpu-1"), c.confirmed);
    const auto ecc = node.gpus[1].ecc_uncorrected;
    node.gpus[1] = good;
    node.gpus[1].ecc_uncorrected = ecc;
    node.Pass(c.good_for);
    EXPECT_EQ(node.StateOf("gpu-1"), State::kRecovering) << "the proof must hold";
    node.Pass(kPoll);
    EXPECT_EQ(node.StateOf("gpu-1"), State::kHealthy);
    EXPECT_EQ(node.Of("gpu-1").health, Health::kHealthy);
    EXPECT_THAT(node.Of("gpu-1").taints, IsEmpty());
    EXPECT_EQ(node.StateOf("gpu-0"), State::kHealthy);
  }
}

TEST(Monitor, AReasonThatReturnsWhileItRecoversStandsAgain) {
  Node node(FullGpus(3));
  node.gpus[0].remap_failed = true;
  node.Look();
  const auto since = node.Of("gpu-0").reasons[0].since;
  node.gpus[0].remap_failed = false;
  node.Pass(seconds{40});
  EXPECT_EQ(node.StateOf("gpu-0"), State::kRecovering);
  node.gpus[0].remap_failed = true;
  node.Pass(kPoll);
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
  EXPECT_EQ(node.Of("gpu-0").reasons[0].since, since) << "it never went";
  node.gpus[0].remap_failed = false;
  node.Pass(seconds{60});
  EXPECT_EQ(node.StateOf("gpu-0"), State::kRecovering) << "and the proof began anew";
}

TEST(Monitor, ASilentGpuProvesNothing) {
  Node node(FullGpus(3));
  node.gpus[0].remap_failed = true;
  node.Look();
  node.gpus[0].remap_failed = false;
  node.Pass(kPoll);
  node.gpus[0].silent = true;
  node.Pass(minutes{20});
  EXPECT_THAT(node.Codes("gpu-0"), Contains("RowRemapFailed"));
  EXPECT_EQ(node.Of("gpu-0").health, Health::kUnhealthy) << "what was known is still known";
}

TEST(Monitor, SilenceAloneIsUnknown) {
  Node node(FullGpus(3));
  node.gpus[2].silent = true;
  node.Pass(kPoll);
  EXPECT_EQ(node.Of("gpu-2").health, Health::kUnknown);
  EXPECT_THAT(node.Of("gpu-2").message, HasSubstr("does not answer"));
  node.Pass(minutes{1});
  EXPECT_EQ(node.Of("gpu-2").health, Health::kUnknown);
  EXPECT_EQ(node.Of("gpu-2").taints[0], (api::Taint{"gpu.nvidia.com/unmonitored", "", "NoSchedule"}));
}

TEST(Monitor, WithoutNewsEveryGpuIsUnknownAndNoneIsTainted) {
  Node node(FullGpus(2));
  (void)node.monitor.Tick(At(seconds{20}));
  EXPECT_EQ(node.Of("gpu-0").health, Health::kHealthy);
  (void)node.monitor.Tick(At(seconds{21}));
  for (const char* device : {"gpu-0", "gpu-1"}) {
    EXPECT_EQ(node.Of(device).health, Health::kUnknown);
    EXPECT_EQ(node.Of(device).taints[0].effect, "None");
  }
  node.passed = seconds{25};
  node.Pass(seconds{15});
  EXPECT_EQ(node.StateOf("gpu-0"), State::kHealthy);
}

// ---- MIG.

TEST(Monitor, AnInstancesFaultStaysThereAndAGpusFaultReachesAll) {
  struct Case {
    std::string_view name;
    std::optional<unsigned> gpu_instance, compute_instance;
    std::vector<State> expected;  // Of 0/1/0, 0/2/0, 0/2/1 and 1/1/0.
  };
  constexpr State kGood = State::kHealthy, kBad = State::kUnhealthy;
  const std::vector<Case> cases{{"compute instance", 2, 0, {kGood, kBad, kGood, kGood}},
                                {"GPU instance", 2, std::nullopt, {kGood, kBad, kBad, kGood}},
                                {"GPU", std::nullopt, std::nullopt, {kBad, kBad, kBad, kGood}},
                                {"an instance that is not offered", 9, 0, {kGood, kGood, kGood, kGood}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Node node(SnapshotOf({MigDevice(0, 1), MigDevice(0, 2, 0), MigDevice(0, 2, 1), MigDevice(1, 1)}));
    nvml::GpuEvent event = XidEvent(0, 95);
    event.gpu_instance = c.gpu_instance;
    event.compute_instance = c.compute_instance;
    node.monitor.Observe(event, node.now());
    (void)node.monitor.Tick(node.now());
    std::vector<State> states;
    for (const DeviceHealth& health : node.monitor.report()) states.push_back(health.state);
    EXPECT_EQ(states, c.expected);
  }
}

TEST(Monitor, AnErrorThatNvmlGaveToAnInstanceIsNotTheGpusToo) {
  const auto grow = [](std::optional<std::uint64_t> blamed) {
    Node node(SnapshotOf({MigDevice(0, 1), MigDevice(0, 2)}));
    node.passed += kPoll;
    if (blamed) {
      nvml::GpuEvent event = XidEvent(0, *blamed);
      event.gpu_instance = 1;
      event.compute_instance = 0;
      node.monitor.Observe(event, node.now());
    }
    node.gpus[0].ecc_uncorrected = 1;
    node.Look();
    return std::pair(node.Codes("gpu-0-mig-1-0"), node.Codes("gpu-0-mig-2-0"));
  };
  EXPECT_THAT(grow(95).first, ElementsAre("Xid95"));
  EXPECT_THAT(grow(95).second, IsEmpty());
  EXPECT_THAT(grow(119).second, ElementsAre("EccUncorrected")) << "another fault explains no memory error";
  EXPECT_THAT(grow(std::nullopt).second, ElementsAre("EccUncorrected"));
}

TEST(Monitor, AnInstancesFaultIsTheGpusWhereItIsOfferedWhole) {
  Node node(FullGpus(1));
  nvml::GpuEvent event = XidEvent(0, 95);
  event.gpu_instance = 1;
  node.monitor.Observe(event, node.now());
  (void)node.monitor.Tick(node.now());
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
}

TEST(Monitor, ANewInstanceDoesNotInheritTheFaultsOfItsNumber) {
  for (const std::optional<unsigned> compute_instance : {std::optional<unsigned>(0), std::optional<unsigned>()}) {
    const auto with = [](std::string uuid) {
      return SnapshotOf({MigDevice(0, 1, 0, std::move(uuid)), MigDevice(0, 2)});
    };
    Node node(with("MIG-old"));
    nvml::GpuEvent event = XidEvent(0, 95);
    event.gpu_instance = 1;
    event.compute_instance = compute_instance;
    node.monitor.Observe(event, node.now());
    node.Look();
    ASSERT_EQ(node.StateOf("gpu-0-mig-1-0"), State::kUnhealthy);
    node.monitor.SetDevices(with("MIG-old"), node.now());
    node.Look();
    EXPECT_EQ(node.StateOf("gpu-0-mig-1-0"), State::kUnhealthy) << "the same one again";
    node.monitor.SetDevices(with("MIG-new"), node.now());
    node.Look();
    EXPECT_EQ(node.StateOf("gpu-0-mig-1-0"), State::kHealthy);
  }
}

// ---- The brake.

TEST(Monitor, TheBrakeHoldsAPolledReasonThatHitsMostGpusAtOnce) {
  Node node(FullGpus(8));
  for (unsigned i = 0; i < 5; ++i) node.gpus[i].remap_failed = true;
  node.Look();
  for (unsigned i = 0; i < 5; ++i) {
    const DeviceHealth& health = node.Of(Format("gpu-{}", i));
    EXPECT_EQ(health.state, State::kSuspect);
    EXPECT_EQ(health.health, Health::kHealthy);
    EXPECT_EQ(health.taints[0].effect, "None");
    EXPECT_TRUE(health.reasons[0].held);
    EXPECT_THAT(health.message, HasSubstr("5 of 8 GPUs"));
  }
  node.gpus[4].remap_failed = false;
  node.Pass(seconds{70});
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy) << "half of them is not most of them";
  EXPECT_EQ(node.StateOf("gpu-4"), State::kHealthy);
}

TEST(Monitor, TheBrakeReleasesNothingThatStands) {
  Node node(FullGpus(8));
  for (unsigned i = 0; i < 8; ++i) {
    node.gpus[i].remap_failed = true;
    node.Pass(kPoll);
  }
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(node.StateOf(Format("gpu-{}", i)), i < 4 ? State::kUnhealthy : State::kSuspect) << i;
  }
}

TEST(Monitor, TheBrakeAlsoHoldsWhatANewPolicyMakesWorse) {
  Node node(FullGpus(3));
  for (nvml::GpuVitals& gpu : node.gpus) gpu.remap_pending = true;
  node.Look();
  node.monitor.SetPolicy(Policy::Parse("version: 1\nreasons: {RowRemapPending: {severity: unusable}}").value());
  node.Pass(kPoll);
  for (const DeviceHealth& health : node.monitor.report()) EXPECT_EQ(health.state, State::kSuspect);
  node.gpus[0].remap_pending = node.gpus[1].remap_pending = false;
  node.Pass(minutes{1});
  EXPECT_EQ(node.StateOf("gpu-2"), State::kUnhealthy);
}

TEST(Monitor, TheBrakeIsNotForWhatTheDriverReports) {
  Node node(FullGpus(4));
  for (unsigned i = 0; i < 4; ++i) node.Xid(i, 79);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(node.StateOf(Format("gpu-{}", i)), State::kUnhealthy);
}

TEST(Monitor, TheOnlyGpuOfANodeIsNotHeld) {
  Node node(FullGpus(1));
  node.gpus[0].remap_failed = true;
  node.Look();
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
}

TEST(Monitor, InstancesOfOneGpuCountOnceForTheBrake) {
  Node node(SnapshotOf({MigDevice(0, 1), MigDevice(0, 2), MigDevice(0, 3), MigDevice(1, 1)}));
  node.gpus[0].remap_failed = true;
  node.Look();
  EXPECT_EQ(node.StateOf("gpu-0-mig-1-0"), State::kUnhealthy);
}

// ---- Devices and policy that change.

TEST(Monitor, ADeviceWhoseGpuVanishedIsReportedWhileSomethingIsKnownAgainstIt) {
  Node node(FullGpus(2));
  node.monitor.SetDevices(SnapshotOf({FullGpu(1)}), node.now());
  node.Look();
  EXPECT_EQ(node.monitor.Find("gpu-0"), nullptr) << "it may have been taken out on purpose";
  node.gpus[0].lost = true;
  node.Look();
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
  node.gpus.erase(node.gpus.begin());
  node.Pass(std::chrono::hours{24} + kPoll);
  EXPECT_EQ(node.monitor.Find("gpu-0"), nullptr) << "after a day it is forgotten";
}

TEST(Monitor, ANewPolicyCountsAtOnce) {
  Node node(FullGpus(1));
  node.Xid(0, 119);
  ASSERT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
  node.monitor.SetPolicy(Policy::Parse("version: 1\nxids: {119: {severity: degraded}}").value());
  (void)node.monitor.Tick(node.now());
  EXPECT_EQ(node.StateOf("gpu-0"), State::kSuspect);
  node.monitor.SetPolicy(Policy::Parse("version: 1\nxids: {119: {severity: none}}").value());
  (void)node.monitor.Tick(node.now());
  EXPECT_EQ(node.StateOf("gpu-0"), State::kHealthy);
}

TEST(Monitor, ObserveReportsAndNeverTaints) {
  Node node(FullGpus(1), "version: 1\nclasses: {firmware: {mode: observe}, lost: {mode: evict}}");
  node.Xid(0, 119);
  EXPECT_EQ(node.Of("gpu-0").health, Health::kUnhealthy);
  EXPECT_THAT(node.Of("gpu-0").taints, IsEmpty());
  node.Xid(0, 79);
  EXPECT_THAT(node.Of("gpu-0").taints, ElementsAre(api::Taint{"gpu.nvidia.com/xid", "79", "NoExecute"}));
}

// ---- What Prepare finds.

TEST(Monitor, WhatPrepareFoundStandsAtOnceUnderPreparesCodeUntilItIsGone) {
  Node node(FullGpus(4));
  Signal found{.kind = Kind::kPrepareFailed,
               .place = {Uuid(1), {}, {}},
               .detail = "DeviceMinorUnknown",
               .sight = Sight::kPresent,
               .found = "the minor number of gpu-1 is not known",
               .severity = {},
               .next = "check nvidia-smi",
               .certain = true};
  node.monitor.Observe(found, node.now());
  (void)node.monitor.Tick(node.now());
  EXPECT_THAT(node.Codes("gpu-1"), ElementsAre("DeviceMinorUnknown"));
  ASSERT_THAT(node.Of("gpu-1").taints, SizeIs(1));
  EXPECT_EQ(node.Of("gpu-1").taints[0].key, "gpu.nvidia.com/prepare-failed");
  EXPECT_EQ(node.Of("gpu-1").taints[0].effect, "NoSchedule");
  node.Pass(minutes{5});
  EXPECT_EQ(node.StateOf("gpu-1"), State::kUnhealthy) << "no vitals can prove it gone";
  found.sight = Sight::kAbsent;
  for (int i = 0; i < 8; ++i) {
    node.monitor.Observe(found, node.now());
    node.Pass(kPoll);
  }
  EXPECT_EQ(node.StateOf("gpu-1"), State::kHealthy);
}

TEST(Monitor, ACertainFindingNeedsNoConfirmation) {
  for (const bool certain : {false, true}) {
    Node node(FullGpus(4));
    node.monitor.Observe({.kind = Kind::kDeviceNodeMissing,
                          .place = {Uuid(1), {}, {}},
                          .detail = {},
                          .sight = Sight::kPresent,
                          .found = {},
                          .severity = {},
                          .next = {},
                          .certain = certain},
                         node.now());
    (void)node.monitor.Tick(node.now());
    EXPECT_EQ(node.StateOf("gpu-1"), certain ? State::kUnhealthy : State::kSuspect);
  }
}

}  // namespace
}  // namespace tessera::health
