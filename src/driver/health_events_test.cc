#include "driver/health_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "driver/health_test_parts.h"

namespace tessera::driver {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::string kMig0 = "gpu-2-mig-1g10gb-19-0", kMig1 = "gpu-2-mig-1g10gb-19-1";

class HealthEventsTest : public ::testing::Test {
 protected:
  HealthEventsTest() { told_.SetActive(true); }

  // "Node/node-a Warning Xid79: …" for all that was written, when it is.
  std::vector<std::string> Written() {
    events_.reset();
    std::vector<std::string> lines;
    for (const json::Value& event : sink_.events()) {
      const json::Value& about = event.at("involvedObject");
      lines.push_back(Format("{}/{} {} {}: {}", about.at("kind").as_string().c_str(),
                             about.at("name").as_string().c_str(), event.at("type").as_string().c_str(),
                             event.at("reason").as_string().c_str(), event.at("message").as_string().c_str()));
    }
    return lines;
  }

  const TempDir dir_ = TempDir::Create("health-events-test").value();
  FakeEvents sink_;
  Metrics metrics_{kNode, "test"};
  std::optional<Events> events_{std::in_place, Events::Options{.node_name = std::string(kNode)}, sink_, metrics_};
  std::unique_ptr<journal::Journal> journal_ = journal::Journal::Open({.directory = dir_.path()});
  HealthEvents told_{std::string(kNode), *journal_, *events_};
};

TEST_F(HealthEventsTest, ASickDeviceIsToldOnTheNodeAndOnTheClaimsThatHoldIt) {
  Prepare(*journal_, TestPrepared("a", {"gpu-0", "gpu-1"}));
  Prepare(*journal_, TestPrepared("b", {"gpu-0"}));
  Prepare(*journal_, TestPrepared("c", {"gpu-1"}));
  told_.OnReport(TestHealth("gpu-0", {StandingXid(79)}));
  const std::string text =
      " Warning Xid79: gpu-0 (GPU-00000000-0000-0000-0000-000000000000): Xid 79 was seen. Reset it.";
  EXPECT_THAT(Written(), ElementsAre("Node/node-a" + text, "ResourceClaim/a" + text, "ResourceClaim/b" + text));
}

TEST_F(HealthEventsTest, EachReasonIsToldOnceAndTheRecoveryOnceAtTheEnd) {
  for (int i = 0; i < 3; ++i) told_.OnReport(TestHealth("gpu-0", {StandingXid(48)}));
  told_.OnReport(TestHealth("gpu-0", {StandingXid(79), StandingXid(48)}));
  auto recovering = StandingXid(79);
  recovering.phase = health::Phase::kRecovering;
  told_.OnReport(TestHealth("gpu-0", {recovering}));
  told_.OnReport(TestHealth("gpu-0", {StandingXid(79)}));  // And back: no news.
  for (int i = 0; i < 3; ++i) told_.OnReport(TestHealth());
  EXPECT_THAT(Written(), ElementsAre(HasSubstr("Warning Xid48"), HasSubstr("Warning Xid79"),
                                     AllOf(HasSubstr("Normal DeviceRecovered: gpu-0 "),
                                           HasSubstr("healthy again after Xid48, Xid79"))));
}

TEST_F(HealthEventsTest, ASuspicionIsNotToldUnlessTheBrakeHoldsIt) {
  auto suspected = StandingXid(48), held = StandingXid(79);
  suspected.phase = held.phase = health::Phase::kSuspect;
  held.held = true;
  told_.OnReport(TestHealth("gpu-0", {suspected, held}));
  EXPECT_THAT(Written(), ElementsAre(HasSubstr("Xid79")));
}

TEST_F(HealthEventsTest, InstancesOfOneGpuShareTheEventOnTheNode) {
  Prepare(*journal_, TestPrepared("a", {kMig0}));
  Prepare(*journal_, TestPrepared("b", {kMig1}));
  const auto gpu = StandingXid(79);
  told_.OnReport(std::make_shared<const std::vector<health::DeviceHealth>>(
      std::vector{HealthOf(TestMig(2, 7, 0, 1), {gpu}), HealthOf(TestMig(2, 8, 1, 1), {gpu})}));
  EXPECT_THAT(Written(), ElementsAre(HasSubstr(Format("Node/node-a Warning Xid79: {}, {} (", kMig0, kMig1)),
                                     HasSubstr(Format("ResourceClaim/a Warning Xid79: {} (", kMig0)),
                                     HasSubstr(Format("ResourceClaim/b Warning Xid79: {} (", kMig1))));
}

TEST_F(HealthEventsTest, AFaultOfOneInstanceIsNotToldToTheOthersClaim) {
  Prepare(*journal_, TestPrepared("a", {kMig0}));
  Prepare(*journal_, TestPrepared("b", {kMig1}));
  told_.OnReport(TestHealth(kMig1, {StandingXid(94)}));
  EXPECT_THAT(Written(), UnorderedElementsAre(HasSubstr("Node/node-a"), HasSubstr("ResourceClaim/b")));
}

TEST_F(HealthEventsTest, MonitoringIsNotToldOfEveryGpuOfTheNode) {
  api::PreparedClaim monitoring = TestPrepared("dcgm", {"gpu-0"});
  monitoring.devices[0].admin_access = true;
  Prepare(*journal_, monitoring);
  told_.OnReport(TestHealth("gpu-0", {StandingXid(79)}));
  EXPECT_THAT(Written(), ElementsAre(HasSubstr("Node/node-a")));
}

TEST_F(HealthEventsTest, OnlyWhoPublishesTellsAndThenWhatStands) {
  told_.SetActive(false);
  told_.OnReport(TestHealth("gpu-0", {StandingXid(48)}));
  told_.OnReport(TestHealth("gpu-1", {StandingXid(79)}));
  told_.SetActive(true);
  EXPECT_THAT(Written(), ElementsAre(HasSubstr("Node/node-a Warning Xid79: gpu-1 ")));
}

}  // namespace
}  // namespace tessera::driver
