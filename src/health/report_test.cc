#include "health/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/text.h"
#include "health/test_parts.h"

namespace tessera::health {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

ReasonReport Of(Kind kind, Severity severity, Phase phase = Phase::kStanding, Mode mode = Mode::kTaint) {
  Reason reason;
  reason.phase = phase;
  reason.severity = severity;
  Rule rule;
  rule.mode = mode;
  return MakeReasonReport({kind, {}, kind == Kind::kXid ? "79" : ""}, reason, rule, "");
}

std::vector<std::string> Taints(const DeviceHealth& health) {
  std::vector<std::string> taints;
  for (const api::Taint& taint : health.taints)
    taints.push_back(Format("{}={}:{}", taint.key, taint.value, taint.effect));
  return taints;
}

TEST(Report, TheWorstReasonDecides) {
  struct Case {
    std::string_view name;
    std::vector<ReasonReport> reasons;
    State state;
    Severity severity;
    Health health;
  };
  using enum Severity;
  using enum Phase;
  const auto mild = Of(Kind::kThermalSlowdown, kDegraded);
  const auto mild_going = Of(Kind::kThermalSlowdown, kDegraded, kRecovering);
  const auto bad = Of(Kind::kRowRemapFailed, kUnusable);
  const auto bad_going = Of(Kind::kRowRemapFailed, kUnusable, kRecovering);
  const auto bad_unsure = Of(Kind::kRowRemapFailed, kUnusable, kSuspect);
  const auto lost = Of(Kind::kGpuLost, kLost);
  const auto silent = Of(Kind::kGpuSilent, kUnusable);
  const auto silent_unsure = Of(Kind::kGpuSilent, kUnusable, kSuspect);
  const std::vector<Case> cases{
      {"nothing", {}, State::kHealthy, kNone, Health::kHealthy},
      {"mild", {mild}, State::kSuspect, kDegraded, Health::kHealthy},
      {"mild, going", {mild_going}, State::kRecovering, kDegraded, Health::kHealthy},
      {"not sure yet", {bad_unsure}, State::kSuspect, kDegraded, Health::kHealthy},
      {"bad", {bad}, State::kUnhealthy, kUnusable, Health::kUnhealthy},
      {"bad, going", {bad_going}, State::kRecovering, kUnusable, Health::kUnhealthy},
      {"a mild one does not hide a bad one that goes",
       {mild, bad_going},
       State::kRecovering,
       kUnusable,
       Health::kUnhealthy},
      {"nor does one that goes hide one that stands", {bad_going, lost}, State::kUnhealthy, kLost, Health::kUnhealthy},
      {"one that goes does not end the suspicion of another",
       {mild_going, bad_unsure},
       State::kSuspect,
       kDegraded,
       Health::kHealthy},
      {"silent", {silent}, State::kUnhealthy, kUnusable, Health::kUnknown},
      {"perhaps silent", {silent_unsure}, State::kSuspect, kDegraded, Health::kUnknown},
      {"silence does not hide what is known", {silent, bad}, State::kUnhealthy, kUnusable, Health::kUnhealthy},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const DeviceHealth health = MakeDeviceHealth(c.reasons, true, Isolation::kTaint);
    EXPECT_EQ(health.state, c.state);
    EXPECT_EQ(health.severity, c.severity);
    EXPECT_EQ(health.health, c.health);
  }
}

TEST(Report, NobodyKnowsBeforeTheFirstLook) {
  EXPECT_EQ(MakeDeviceHealth({}, false, Isolation::kTaint).health, Health::kUnknown);
  EXPECT_EQ(MakeDeviceHealth({}, false, Isolation::kTaint).message, "Not checked yet.");
  const auto bad = Of(Kind::kGpuLost, Severity::kLost);
  EXPECT_EQ(MakeDeviceHealth({bad}, false, Isolation::kTaint).health, Health::kUnhealthy) << "remembered";
}

TEST(Report, TaintsFollowSeverityAndMode) {
  struct Case {
    std::string_view name;
    ReasonReport reason;
    std::vector<std::string> expected;
  };
  using enum Severity;
  const std::vector<Case> cases{
      {"degraded", Of(Kind::kThermalSlowdown, kDegraded), {"gpu.nvidia.com/thermal=ThermalSlowdown:None"}},
      {"suspect", Of(Kind::kXid, kUnusable, Phase::kSuspect), {"gpu.nvidia.com/xid=79:None"}},
      {"unusable", Of(Kind::kXid, kUnusable), {"gpu.nvidia.com/xid=79:NoSchedule"}},
      {"recovering", Of(Kind::kXid, kUnusable, Phase::kRecovering), {"gpu.nvidia.com/xid=79:NoSchedule"}},
      {"lost", Of(Kind::kGpuLost, kLost), {"gpu.nvidia.com/gpu-lost=:NoSchedule"}},
      {"lost, evict",
       Of(Kind::kGpuLost, kLost, Phase::kStanding, Mode::kEvict),
       {"gpu.nvidia.com/gpu-lost=:NoExecute"}},
      {"mild, evict",
       Of(Kind::kThermalSlowdown, kDegraded, Phase::kStanding, Mode::kEvict),
       {"gpu.nvidia.com/thermal=ThermalSlowdown:None"}},
      {"observe", Of(Kind::kGpuLost, kLost, Phase::kStanding, Mode::kObserve), {}},
      {"silent", Of(Kind::kGpuSilent, kUnusable), {"gpu.nvidia.com/unmonitored=:NoSchedule"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Taints(MakeDeviceHealth({c.reason}, true, Isolation::kTaint)), c.expected);
  }
}

TEST(Report, AMilderReasonNeverReplacesAWorseTaintOfItsKey) {
  auto pending = Of(Kind::kRowRemapPending, Severity::kDegraded);
  auto failed = Of(Kind::kRowRemapFailed, Severity::kUnusable);
  pending.since = At(seconds{0}).wall;
  failed.since = At(seconds{9}).wall;
  for (const auto& reasons : {std::vector{pending, failed}, std::vector{failed, pending}}) {
    EXPECT_THAT(Taints(MakeDeviceHealth(reasons, true, Isolation::kTaint)),
                ElementsAre("gpu.nvidia.com/row-remap=RowRemapFailed:NoSchedule"));
  }
}

TEST(Report, TaintsKeepTheirOrderWhicheverReasonIsOlderOrRecovers) {
  auto xid = Of(Kind::kXid, Severity::kLost);
  auto lost = Of(Kind::kGpuLost, Severity::kLost);
  lost.since = xid.since + seconds{1};
  const auto taints = Taints(MakeDeviceHealth({xid, lost}, true, Isolation::kTaint));
  EXPECT_THAT(taints, ElementsAre("gpu.nvidia.com/gpu-lost=:NoSchedule", "gpu.nvidia.com/xid=79:NoSchedule"));
  xid.since = lost.since + seconds{1};
  EXPECT_EQ(Taints(MakeDeviceHealth({xid, lost}, true, Isolation::kTaint)), taints);
  lost.phase = Phase::kRecovering;
  EXPECT_EQ(Taints(MakeDeviceHealth({xid, lost}, true, Isolation::kTaint)), taints);
}

TEST(Report, HasTheStrongestTaintsWhenThereAreTooMany) {
  std::vector<ReasonReport> reasons;
  for (const Kind kind : {Kind::kThermalSlowdown, Kind::kPowerSlowdown, Kind::kPcieDegraded, Kind::kRowRemapPending}) {
    reasons.push_back(Of(kind, Severity::kDegraded));
  }
  reasons.push_back(Of(Kind::kGpuLost, Severity::kLost));
  const auto health = MakeDeviceHealth(reasons, true, Isolation::kTaint);
  ASSERT_EQ(health.taints.size(), kMaxTaints);
  EXPECT_EQ(health.taints[0].key, "gpu.nvidia.com/gpu-lost");
}

TEST(Report, WithdrawsInsteadOfATaintOnlyWhereNobodyMustLeave) {
  const auto of = [](Severity severity, Mode mode, Isolation isolation) {
    return MakeDeviceHealth({Of(Kind::kXid, severity, Phase::kStanding, mode)}, true, isolation).withdraw;
  };
  EXPECT_TRUE(of(Severity::kUnusable, Mode::kTaint, Isolation::kWithdraw));
  EXPECT_FALSE(of(Severity::kUnusable, Mode::kTaint, Isolation::kTaint));
  EXPECT_FALSE(of(Severity::kUnusable, Mode::kEvict, Isolation::kWithdraw));
  EXPECT_FALSE(of(Severity::kUnusable, Mode::kObserve, Isolation::kWithdraw));
  EXPECT_FALSE(of(Severity::kDegraded, Mode::kTaint, Isolation::kWithdraw));
}

TEST(Report, MessageNamesTheWorstItsNextStepAndTheOthers) {
  auto thermal = Of(Kind::kThermalSlowdown, Severity::kDegraded);
  const DeviceHealth health = MakeDeviceHealth({thermal, Of(Kind::kXid, Severity::kLost)}, true, Isolation::kTaint);
  EXPECT_EQ(
      health.message,
      "Xid79: Xid 79 (GPU_HAS_FALLEN_OFF_THE_BUS), the GPU does not answer on PCIe any more. Drain the node and "
      "power-cycle it; check that the board is seated. Also ThermalSlowdown: the GPU is too hot and runs slower.");
}

TEST(Report, MessageIsCutAtACharacter) {
  for (std::size_t extra = 0; extra < 4; ++extra) {
    auto reason = Of(Kind::kVerdict, Severity::kUnusable);
    reason.sentence = std::string(extra, 'x');
    while (reason.sentence.size() < 2000) reason.sentence += "é";
    const std::string message = MakeDeviceHealth({reason}, true, Isolation::kTaint).message;
    EXPECT_LE(message.size(), kMaxMessage);
    EXPECT_GT(message.size(), kMaxMessage - 4);
    EXPECT_TRUE(message.ends_with("é…")) << extra;
  }
}

TEST(Report, SaysWhyAReasonIsHeld) {
  Reason reason;
  reason.severity = Severity::kUnusable;
  reason.held = true;
  reason.found = "links 0, 1";
  const auto report = MakeReasonReport({Kind::kNvlinkDown, {}, ""}, reason, {}, "8 of 8 GPUs show it at once");
  EXPECT_EQ(report.sentence,
            "NVLinks that were up are down: links 0, 1; held back, because 8 of 8 GPUs show it at once");
  EXPECT_EQ(report.severity, Severity::kDegraded);
}

TEST(Report, CodesAreFitForConditionsAndLabels) {
  EXPECT_EQ(Of(Kind::kXid, Severity::kLost).code, "Xid79");
  EXPECT_EQ(Of(Kind::kNvlinkDown, Severity::kLost).code, "NvlinkDown");
}

}  // namespace
}  // namespace tessera::health
