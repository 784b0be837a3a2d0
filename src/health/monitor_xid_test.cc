// What a monitor makes of Xids, and of the driver's own advice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "health/monitor.h"
#include "health/watched_node.h"

namespace tessera::health {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Monitor, XidsOfApplicationsChangeNothing) {
  Node node(FullGpus(1));
  for (const std::uint64_t code : {13U, 31U, 43U, 45U, 63U, 154U}) EXPECT_THAT(node.Xid(0, code), IsEmpty()) << code;
}

TEST(Monitor, AMilderXidAfterAWorseOneHidesNothing) {
  Node node(FullGpus(1));
  node.Xid(0, 79);
  node.Xid(0, 45);
  node.Xid(0, 94);
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
  EXPECT_THAT(node.Codes("gpu-0"), ElementsAre("Xid79", "Xid94"));
  EXPECT_THAT(node.Of("gpu-0").taints, ElementsAre(api::Taint{"gpu.nvidia.com/xid", "79", "NoSchedule"}));
}

TEST(Monitor, WithoutAdviceAnXidStandsUntilTheGpuIsReset) {
  Node node(FullGpus(1));
  node.Xid(0, 119);
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
  node.Pass(std::chrono::hours{1});
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy) << "quiet is no proof";
  node.monitor.NoteReset(Uuid(0));
  node.Pass(seconds{60});
  EXPECT_EQ(node.StateOf("gpu-0"), State::kRecovering);
  node.Pass(kPoll);
  EXPECT_EQ(node.StateOf("gpu-0"), State::kHealthy);
}

TEST(Monitor, CountersThatBeganAnewAreAReset) {
  Node node(FullGpus(1));
  node.gpus[0].ecc_corrected = 4;
  node.Pass(kPoll);
  node.Xid(0, 119);
  node.gpus[0].ecc_corrected = 0;
  node.Pass(seconds{70});
  EXPECT_EQ(node.StateOf("gpu-0"), State::kHealthy);
}

TEST(Monitor, AnotherDriverIsAReset) {
  Node node(FullGpus(1));
  node.Xid(0, 119);
  nvml::MachineVitals vitals = MachineOf(node.gpus);
  vitals.driver_version = "590.1";
  node.monitor.Observe(vitals, At(seconds{5}));
  vitals.driver_version = "";  // Not read this time.
  node.monitor.Observe(vitals, At(seconds{65}));
  (void)node.monitor.Tick(At(seconds{65}));
  EXPECT_EQ(node.StateOf("gpu-0"), State::kHealthy);
}

TEST(Monitor, TheDriversAdviceOutranksTheCatalogue) {
  struct Case {
    std::string_view name;
    unsigned advice;
    State state;
    std::string effect;
  };
  const std::vector<Case> cases{{"nothing", 0, State::kSuspect, "None"},
                                {"reset", 1, State::kUnhealthy, "NoSchedule"},
                                {"drain P2P", 3, State::kSuspect, "None"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Node node(FullGpus(1));
    node.gpus[0].recovery_action = 0;
    node.Look();
    node.Xid(0, 119);
    EXPECT_EQ(node.StateOf("gpu-0"), State::kSuspect) << "the advice is on its way";
    node.gpus[0].recovery_action = c.advice;
    node.Look();
    EXPECT_EQ(node.StateOf("gpu-0"), c.state);
    EXPECT_EQ(node.Of("gpu-0").taints[0].effect, c.effect);
    EXPECT_THAT(node.Codes("gpu-0"), Contains("Xid119"));
    node.Pass(minutes{10});
    EXPECT_EQ(node.StateOf("gpu-0"), c.advice == 0 ? State::kHealthy : c.state);
    node.gpus[0].recovery_action = 0;
    node.Pass(seconds{70});
    EXPECT_EQ(node.StateOf("gpu-0"), State::kHealthy);
  }
}

TEST(Monitor, AnXidThatReturnsWaitsForAdviceAgain) {
  Node node(FullGpus(1));
  node.gpus[0].recovery_action = 0;
  node.Look();
  for (int i = 0; i < 20; ++i) {
    node.Xid(0, 119);
    EXPECT_EQ(node.StateOf("gpu-0"), State::kSuspect) << i;
    node.Pass(kPoll);
  }
}

TEST(Monitor, AnXidThatReturnsIsAsBadAsTheAdviceWas) {
  Node node(FullGpus(1));
  node.gpus[0].recovery_action = 3;  // Drain P2P: degraded.
  node.Look();
  for (int i = 0; i < 5; ++i) {
    node.Xid(0, 119);
    EXPECT_EQ(node.Of("gpu-0").severity, Severity::kDegraded) << i;
    node.Pass(kPoll);
  }
}

TEST(Monitor, AdviceThatDoesNotComeLeavesTheCatalogueToDecide) {
  Node node(FullGpus(1));
  node.gpus[0].recovery_action = 0;
  node.Look();
  node.Xid(0, 119);
  (void)node.monitor.Tick(At(seconds{9}));
  EXPECT_EQ(node.StateOf("gpu-0"), State::kSuspect);
  (void)node.monitor.Tick(At(seconds{10}));
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
}

TEST(Monitor, ALossDoesNotWaitForAdvice) {
  Node node(FullGpus(1));
  node.gpus[0].recovery_action = 0;
  node.Look();
  node.Xid(0, 79);
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
}

TEST(Monitor, WhatAPersonSetForACodeOutranksTheDriversAdvice) {
  Node node(FullGpus(1), "version: 1\nxids: {119: {severity: lost}}");
  node.gpus[0].recovery_action = 0;
  node.Look();
  node.Xid(0, 119);
  EXPECT_EQ(node.StateOf("gpu-0"), State::kUnhealthy);
  node.Pass(minutes{10});
  EXPECT_EQ(node.Of("gpu-0").severity, Severity::kLost);
}

TEST(Monitor, AnEventWithoutAGpuTouchesNone) {
  Node node(FullGpus(2));
  EXPECT_FALSE(node.monitor.Observe(nvml::GpuEvent{.type = nvml::abi::kEventXidCritical, .data = 79}, node.now()));
  EXPECT_THAT(node.monitor.Tick(node.now()), IsEmpty());
}

TEST(Monitor, ThousandsOfXidsAreOneReasonAndOneChange) {
  Node node(FullGpus(1));
  std::size_t changes = 0;
  for (int i = 0; i < 10000; ++i) changes += node.Xid(0, 119).size();
  EXPECT_EQ(changes, 1U);
  EXPECT_EQ(node.Of("gpu-0").reasons[0].times, 10000U);
  for (std::uint64_t code = 1000; code < 2000; ++code) node.Xid(0, code);
  EXPECT_EQ(node.Of("gpu-0").reasons.size(), kMaxReasonsPerGpu);
  node.Xid(0, 79);
  EXPECT_THAT(node.Codes("gpu-0"), Contains("Xid79")) << "a worse one finds room";
}

}  // namespace
}  // namespace tessera::health
