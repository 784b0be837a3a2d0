#include "driver/claim_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "base/fd.h"
#include "driver/health_test_parts.h"

namespace tessera::driver {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Keeps what is applied, by "namespace/name". Faults are given once each, first.
class FakeStatus final : public StatusStore {
 public:
  Result<std::vector<api::DeviceStatus>> Apply(const api::ClaimRef& claim,
                                               const std::vector<api::DeviceStatus>& devices,
                                               const std::stop_token&) override {
    ++applies;
    if (!faults.empty()) {
      Error fault = std::move(faults.front());
      faults.pop_front();
      return std::unexpected(std::move(fault));
    }
    if (!keeps) return std::vector<api::DeviceStatus>();
    stored[api::ToText(claim)] = devices;
    return devices;
  }

  std::map<std::string, std::vector<api::DeviceStatus>> stored;
  std::deque<Error> faults;
  int applies = 0;
  bool keeps = true;  // False: the feature gate is off.
};

Error Fault(ErrorKind kind, std::string_view code) { return {kind, code, "the server's words"}; }

class ClaimStatusTest : public ::testing::Test {
 protected:
  ClaimStatusTest() {
    hardware_.Set(TestState());
    clock_.Set(std::chrono::system_clock::time_point(hours(490'000)));
    Restart();
  }

  // As a new process does: nothing is remembered but what journal and API server have.
  void Restart() {
    status_ =
        std::make_unique<ClaimStatus>(ClaimStatus::Options{.node_name = std::string(kNode), .clock = &clock_},
                                      ClaimStatus::Parts{*journal_, hardware_, claims_, store_, trouble_, metrics_});
  }
  // A report comes, and `later` a pass.
  void Look(NodeHealth report, std::chrono::milliseconds later = seconds(1)) {
    clock_.Advance(later);
    status_->SetHealth(std::move(report));
    status_->Pass({});
  }
  void PutPrepared(const std::string& name, const std::vector<std::string>& devices) {
    const api::PreparedClaim claim = TestPrepared(name, devices);
    Prepare(*journal_, claim);
    PutClaim(claim);
  }
  // The claim at the API server, allocated, with the entries that were applied.
  void PutClaim(const api::PreparedClaim& prepared) {
    std::vector<api::AllocationResult> results;
    for (const api::PreparedDevice& device : prepared.devices) {
      results.push_back(Gets(device.name));
      results.back().share_id = device.share_id;
    }
    api::ResourceClaim claim = TestClaim(prepared.claim.name, std::move(results));
    claim.raw_devices = api::ToJson(store_.stored[api::ToText(prepared.claim)]);
    claims_.Put(claim);
  }
  const std::vector<api::DeviceStatus>& Stored(const std::string& name) { return store_.stored["ml/" + name]; }
  api::Condition Condition(const std::string& name, std::size_t which) {
    return Stored(name).at(0).conditions.at(which);
  }
  api::Condition Ready(const std::string& name) { return Condition(name, 0); }
  api::Condition Healthy(const std::string& name) { return Condition(name, 1); }

  const TempDir dir_ = TempDir::Create("claim-status-test").value();
  FakeClock clock_;
  FakeEvents sink_;
  Metrics metrics_{kNode, "test"};
  std::optional<Events> events_{std::in_place, Events::Options{.node_name = std::string(kNode)}, sink_, metrics_};
  Trouble trouble_{std::string(kNode), *events_};
  std::unique_ptr<journal::Journal> journal_ = journal::Journal::Open({.directory = dir_.path()});
  Hardware hardware_;
  FakeClaims claims_;
  FakeStatus store_;
  std::unique_ptr<ClaimStatus> status_;
};

TEST_F(ClaimStatusTest, APreparedClaimSaysThatItsDevicesAreReadyAndHealthyAndWhichTheyAre) {
  PutPrepared("a", {"gpu-0"});
  Look(TestHealth());
  ASSERT_THAT(Stored("a"), SizeIs(1));
  EXPECT_EQ(Ready("a"), (api::Condition{"Ready", "True", "Prepared", "Prepared on node-a.", Rfc3339(clock_.Now())}));
  EXPECT_EQ(Healthy("a"), (api::Condition{"Healthy", "True", "NothingFound", "", Rfc3339(clock_.Now())}));
  EXPECT_EQ(
      json::PrintJson(Stored("a")[0].data),
      R"({"uuid":"GPU-00000000-0000-0000-0000-000000000000","pciBusID":"0000:00:00.0","driverVersion":"580.1.2"})");
}

TEST_F(ClaimStatusTest, AMigDeviceIsNamedWithItsInstancesAndItsGpu) {
  PutPrepared("a", {"gpu-2-mig-1g10gb-19-1"});
  Look(TestHealth());
  const json::Value& mig = Stored("a").at(0).data.at("mig");
  EXPECT_EQ(Stored("a")[0].data.at("uuid"), json::Value("MIG-2-8"));
  EXPECT_EQ(json::PrintJson(mig), R"({"gpuInstance":8,"computeInstance":0,)"
                                  R"("parentUUID":"GPU-00000000-0000-0000-0000-000000000002","profile":"1g.10gb"})");
}

TEST_F(ClaimStatusTest, KeysAreThoseOfTheAllocation) {
  Look(TestHealth());
  api::PreparedClaim claim = TestPrepared("a", {"gpu-0"});
  claim.devices[0].share_id = "7b9d";
  claim.devices[0].pool = "another-pool";
  Prepare(*journal_, claim);
  Look(TestHealth());
  EXPECT_EQ(Stored("a").at(0).share_id, "7b9d");
  EXPECT_EQ(Stored("a").at(0).pool, "another-pool");
}

TEST_F(ClaimStatusTest, ASickGpuIsToldInEveryClaimThatHasItAndItsRecoveryToo) {
  PutPrepared("a", {"gpu-0"});
  PutPrepared("b", {"gpu-0"});
  PutPrepared("c", {"gpu-1"});
  Look(TestHealth());
  const std::string began = Healthy("a").last_transition;
  Look(TestHealth("gpu-0", {StandingXid(79)}));
  for (const std::string name : {"a", "b"}) {
    EXPECT_EQ(Healthy(name), (api::Condition{"Healthy", "False", "Xid79", "Xid79: Xid 79 was seen. Reset it.",
                                             Rfc3339(clock_.Now())}));
    EXPECT_EQ(Ready(name).last_transition, began);
  }
  EXPECT_EQ(Healthy("c").status, "True");
  EXPECT_EQ(store_.applies, 5) << "the claim on another GPU is not written again";
  Look(TestHealth());
  for (const std::string name : {"a", "b"}) {
    EXPECT_EQ(Healthy(name).status, "True");
    EXPECT_EQ(Healthy(name).last_transition, Rfc3339(clock_.Now()));
  }
}

TEST_F(ClaimStatusTest, AnotherReasonForTheSameStatusMovesNoTime) {
  PutPrepared("a", {"gpu-0"});
  Look(TestHealth("gpu-0", {StandingXid(48)}));
  const std::string began = Healthy("a").last_transition;
  Look(TestHealth("gpu-0", {StandingXid(79)}));
  EXPECT_EQ(Healthy("a").reason, "Xid79");
  EXPECT_EQ(Healthy("a").last_transition, began);
}

TEST_F(ClaimStatusTest, WhatIsAlreadyThereIsNotWritten) {
  PutPrepared("a", {"gpu-0"});
  for (int i = 0; i < 5; ++i) Look(TestHealth());
  EXPECT_EQ(store_.applies, 1);
}

TEST_F(ClaimStatusTest, NothingIsWrittenBeforeSomebodyLookedAtTheDevice) {
  PutPrepared("a", {"gpu-0"});
  Look(std::make_shared<const std::vector<health::DeviceHealth>>(
      std::vector{HealthOf(TestGpu(0), {}, /*heard=*/false)}));
  EXPECT_EQ(store_.applies, 0);
}

TEST_F(ClaimStatusTest, OfALocalRunsClaimTheApiServerIsToldNothing) {
  api::PreparedClaim claim = TestPrepared("a", {"gpu-0"});
  claim.run = api::LocalRun{.pid = 7};
  Prepare(*journal_, claim);
  PutClaim(claim);  // A pod's claim of the same name.
  Look(TestHealth());
  EXPECT_EQ(store_.applies, 0);
}

TEST_F(ClaimStatusTest, ADeviceThatNobodyWatchesIsUnknown) {
  PutPrepared("a", {"gpu-0"});
  Look(std::make_shared<const std::vector<health::DeviceHealth>>(std::vector{HealthOf(TestGpu(1))}));
  EXPECT_EQ(Healthy("a").status, "Unknown");
  EXPECT_EQ(Healthy("a").reason, "NotWatched");
}

TEST_F(ClaimStatusTest, AfterARestartOnlyWhatDiffersIsWrittenAndTimesAreKept) {
  for (const std::string name : {"a", "b"}) PutPrepared(name, {name == "a" ? "gpu-0" : "gpu-1"});
  Look(TestHealth("gpu-0", {StandingXid(48)}));
  const std::string began = Healthy("a").last_transition;
  for (const journal::ClaimPtr& claim : journal_->All()) PutClaim(*claim);
  store_.applies = 0;

  Restart();
  Look(TestHealth("gpu-0", {StandingXid(48)}));
  EXPECT_EQ(store_.applies, 0);
  EXPECT_EQ(claims_.gets(), 4) << "each claim is read once a start";

  Restart();
  Look(TestHealth("gpu-0", {StandingXid(79)}));
  EXPECT_EQ(store_.applies, 1);
  EXPECT_EQ(Healthy("a").reason, "Xid79");
  EXPECT_EQ(Healthy("a").last_transition, began);
}

TEST_F(ClaimStatusTest, AClaimThatIsPreparedWhileWeRunIsNotReadFirst) {
  Look(TestHealth());
  PutPrepared("a", {"gpu-0"});
  Look(TestHealth());
  EXPECT_EQ(claims_.gets(), 0);
  EXPECT_EQ(store_.applies, 1);
}

TEST_F(ClaimStatusTest, AServerThatKeepsNothingIsToldOfOnceAndTriedOnceAnHour) {
  store_.keeps = false;
  for (const std::string name : {"a", "b", "c"}) PutPrepared(name, {"gpu-0"});
  for (int i = 0; i < 5; ++i) Look(TestHealth());
  EXPECT_EQ(store_.applies, 1);
  Look(TestHealth(), hours(1));
  EXPECT_EQ(store_.applies, 2);
  store_.keeps = true;  // The cluster was upgraded.
  Look(TestHealth(), hours(1));
  EXPECT_EQ(Healthy("a").status, "True");
  EXPECT_EQ(Healthy("c").status, "True");
  events_.reset();
  EXPECT_THAT(sink_.texts(), ElementsAre(HasSubstr("ClaimStatusDropped: ")));
}

TEST_F(ClaimStatusTest, WhileTheServerIsAwayTheNewestWaitsWithTheTimeOfItsChange) {
  PutPrepared("a", {"gpu-0"});
  Look(TestHealth());
  for (int i = 0; i < 2; ++i) store_.faults.push_back(Fault(ErrorKind::kTransient, "ConnectFailed"));
  Look(TestHealth("gpu-0", {StandingXid(48)}));
  const std::string fell = Rfc3339(clock_.Now());
  EXPECT_EQ(Healthy("a").status, "True");
  Look(TestHealth("gpu-0", {StandingXid(79)}), std::chrono::milliseconds(500));
  EXPECT_EQ(store_.applies, 2) << "it waits before it tries again";
  Look(TestHealth("gpu-0", {StandingXid(79)}), seconds(1));
  EXPECT_EQ(store_.applies, 3);
  Look(TestHealth("gpu-0", {StandingXid(79)}), seconds(2));
  EXPECT_EQ(Healthy("a").reason, "Xid79");
  EXPECT_EQ(Healthy("a").last_transition, fell);
}

TEST_F(ClaimStatusTest, OneClaimThatFailsHoldsUpNoOther) {
  PutPrepared("a", {"gpu-0"});
  PutPrepared("b", {"gpu-1"});
  store_.faults.push_back(Fault(ErrorKind::kTransient, "ApiServerError"));
  Look(TestHealth());
  EXPECT_THAT(Stored("a"), IsEmpty());
  EXPECT_THAT(Stored("b"), SizeIs(1));
}

TEST_F(ClaimStatusTest, AClaimThatIsGoneOrAnotherOneIsForgotten) {
  Look(TestHealth());
  PutPrepared("deleted", {"gpu-0"});
  PutPrepared("replaced", {"gpu-0"});
  PutPrepared("freed", {"gpu-0"});
  claims_.Remove({"ml", "deleted", ""});
  api::ResourceClaim replaced = TestClaim("replaced", {Gets("gpu-0")});
  replaced.ref.uid = "another";
  claims_.Put(replaced);
  claims_.Put(TestClaim("freed", {Gets("gpu-1")}));
  store_.faults = {Fault(ErrorKind::kPermanentConfig, "ApiNotFound"), Fault(ErrorKind::kPermanentConfig, "ApiInvalid"),
                   Fault(ErrorKind::kTransient, "ApiConflict")};
  Look(TestHealth());
  EXPECT_EQ(store_.applies, 3);
  for (int i = 0; i < 5; ++i) Look(TestHealth(), hours(1));
  EXPECT_EQ(store_.applies, 3);
  events_.reset();
  EXPECT_THAT(sink_.texts(), IsEmpty());
}

TEST_F(ClaimStatusTest, AMissingRightIsToldAndTriedSeldom) {
  PutPrepared("a", {"gpu-0"});
  for (int i = 0; i < 5; ++i) store_.faults.push_back(Fault(ErrorKind::kPermanentConfig, "ApiInvalid"));
  for (int i = 0; i < 60; ++i) Look(TestHealth());
  EXPECT_EQ(store_.applies, 1) << "it was read just before, so it is a right that is missing";
  Look(TestHealth(), std::chrono::minutes(5));
  EXPECT_EQ(store_.applies, 2);
  events_.reset();
  EXPECT_THAT(sink_.texts(), ElementsAre(HasSubstr("ClaimStatusRefused: ")));
}

TEST_F(ClaimStatusTest, AfterItsEndAClaimSaysHowItsDevicesWere) {
  PutPrepared("a", {"gpu-0"});
  Look(TestHealth("gpu-0", {StandingXid(79)}));
  const std::string fell = Healthy("a").last_transition;
  ASSERT_TRUE(journal_->Forget("uid-a").has_value());
  Look(TestHealth());
  EXPECT_EQ(Ready("a").status, "False");
  EXPECT_EQ(Ready("a").reason, "Unprepared");
  EXPECT_EQ(Ready("a").last_transition, Rfc3339(clock_.Now()));
  EXPECT_EQ(Healthy("a").reason, "Xid79");
  EXPECT_EQ(Healthy("a").last_transition, fell);
  store_.applies = 0;
  Look(TestHealth());
  EXPECT_EQ(store_.applies, 0);
}

TEST_F(ClaimStatusTest, TheEndOfAClaimThatIsGoneIsNoTrouble) {
  PutPrepared("a", {"gpu-0"});
  Look(TestHealth());
  ASSERT_TRUE(journal_->Forget("uid-a").has_value());
  store_.faults = {Fault(ErrorKind::kPermanentConfig, "ApiInvalid")};
  for (int i = 0; i < 5; ++i) Look(TestHealth(), hours(1));
  EXPECT_EQ(store_.applies, 2);
  events_.reset();
  EXPECT_THAT(sink_.texts(), IsEmpty());
}

TEST_F(ClaimStatusTest, AClaimThatIsPreparedAgainIsReadyAgain) {
  PutPrepared("a", {"gpu-0"});
  Look(TestHealth());
  ASSERT_TRUE(journal_->Forget("uid-a").has_value());
  Look(TestHealth());
  PutPrepared("a", {"gpu-1"});
  Look(TestHealth());
  EXPECT_EQ(Stored("a").at(0).device, "gpu-1");
  EXPECT_EQ(Ready("a").status, "True");
}

}  // namespace
}  // namespace tessera::driver
