// What a monitor makes of what others say.
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
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Verdict Says(std::string device, Severity severity) {
  return {.file = "a.yaml", .device = std::move(device), .severity = severity, .reason = "diagnostics failed"};
}

TEST(Monitor, AVerdictStandsWhileItsFileDoes) {
  struct Case {
    std::string_view device;
    std::vector<State> expected;  // Of 0/1/0, 0/2/0 and gpu-1.
  };
  constexpr State kGood = State::kHealthy, kBad = State::kUnhealthy;
  const std::vector<Case> cases{{"GPU-0", {kBad, kBad, kGood}},
                                {"0", {kBad, kBad, kGood}},
                                {"00000000:10:00.0", {kBad, kBad, kGood}},
                                {"0000:10:00.0", {kBad, kBad, kGood}},
                                {"MIG-0-2-0", {kGood, kBad, kGood}},
                                {"gpu-0-mig-2-0", {kGood, kBad, kGood}},
                                {"1", {kGood, kGood, kBad}},
                                {"GPU-1", {kGood, kGood, kBad}},
                                {"0000:11:00.0", {kGood, kGood, kBad}},
                                {"7", {kGood, kGood, kGood}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.device);
    Node node(SnapshotOf({MigDevice(0, 1), MigDevice(0, 2), FullGpu(1)}));
    node.monitor.SetVerdicts({Says(std::string(c.device), Severity::kUnusable)});
    (void)node.monitor.Tick(node.now());
    std::vector<State> states;
    for (const DeviceHealth& health : node.monitor.report()) states.push_back(health.state);
    EXPECT_EQ(states, c.expected);
    EXPECT_EQ(node.monitor.unmatched_verdicts().empty(), c.device != "7");
    node.Pass(minutes{30});
    EXPECT_EQ(node.monitor.report()[0].state, c.expected[0]) << "looks say nothing against it";
    node.monitor.SetVerdicts({});
    (void)node.monitor.Tick(node.now());
    for (const DeviceHealth& health : node.monitor.report()) EXPECT_EQ(health.state, kGood);
  }
}

TEST(Monitor, AVerdictCarriesItsOwnSeverityReasonAndEnd) {
  Node node(FullGpus(1));
  Verdict verdict = Says("GPU-0", Severity::kDegraded);
  verdict.source = "dcgm";
  verdict.expires = At(seconds{100}).wall;
  node.monitor.SetVerdicts({verdict});
  (void)node.monitor.Tick(node.now());
  EXPECT_EQ(node.StateOf("gpu-0"), State::kSuspect);
  EXPECT_THAT(node.Of("gpu-0").message, HasSubstr("dcgm says degraded: diagnostics failed"));
  node.Pass(seconds{95});
  EXPECT_EQ(node.StateOf("gpu-0"), State::kSuspect);
  node.Pass(kPoll);
  EXPECT_EQ(node.StateOf("gpu-0"), State::kHealthy);
}

TEST(Monitor, TwoVerdictsStandSideBySide) {
  Node node(FullGpus(1));
  Verdict lost = Says("0", Severity::kLost), degraded = Says("0", Severity::kDegraded);
  degraded.file = "b.yaml";
  node.monitor.SetVerdicts({lost, degraded});
  (void)node.monitor.Tick(node.now());
  EXPECT_THAT(node.Of("gpu-0").reasons, SizeIs(2));
  EXPECT_EQ(node.Of("gpu-0").severity, Severity::kLost);
  node.monitor.SetVerdicts({degraded});
  (void)node.monitor.Tick(node.now());
  EXPECT_EQ(node.Of("gpu-0").severity, Severity::kDegraded);
}

TEST(Monitor, APersonsWordIsProofForWhatHappenedButNotForWhatIs) {
  Node node(FullGpus(1));
  node.Xid(0, 119);
  node.gpus[0].remap_failed = true;
  node.Pass(seconds{30});
  Verdict repaired = Says("GPU-0", Severity::kNone);
  repaired.written = node.now().wall;
  node.monitor.SetVerdicts({repaired});
  node.Pass(minutes{2});
  EXPECT_THAT(node.Codes("gpu-0"), ElementsAre("RowRemapFailed"));
  node.Xid(0, 119);
  node.Pass(minutes{2});
  EXPECT_THAT(node.Codes("gpu-0"), Contains("Xid119")) << "the word is older than this";
  repaired.written = node.now().wall + std::chrono::hours{1};
  node.monitor.SetVerdicts({repaired});
  node.Pass(minutes{2});
  EXPECT_THAT(node.Codes("gpu-0"), Contains("Xid119")) << "and a word from the future is none";
}

TEST(Monitor, AnInstanceThatWasRepairedIsNotItsNeighbourNorItsGpu) {
  for (const std::optional<unsigned> compute_instance : {std::optional<unsigned>(0), std::optional<unsigned>()}) {
    Node node(SnapshotOf({MigDevice(0, 1), MigDevice(0, 2)}));
    for (const unsigned instance : {1U, 2U}) {
      nvml::GpuEvent event = XidEvent(0, 95);
      event.gpu_instance = instance;
      event.compute_instance = compute_instance;
      node.monitor.Observe(event, node.now());
    }
    node.Xid(0, 119);
    node.Pass(seconds{30});
    Verdict repaired = Says("gpu-0-mig-1-0", Severity::kNone);
    repaired.written = node.now().wall;
    node.monitor.SetVerdicts({repaired});
    node.Pass(minutes{2});
    EXPECT_THAT(node.Codes("gpu-0-mig-1-0"), ElementsAre("Xid119"));
    EXPECT_THAT(node.Codes("gpu-0-mig-2-0"), UnorderedElementsAre("Xid95", "Xid119"));
  }
}

}  // namespace
}  // namespace tessera::health
