#include "driver/preparer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <latch>

#include "base/fd.h"
#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PreparerTest : public ::testing::Test {
 protected:
  PreparerTest() {
    fs::create_directories(dir_.path() / "root/dev");
    for (int i = 0; i < 3; ++i) Touch(dir_.path() / Format("root/dev/nvidia{}", i));
    hardware_.Set(State());
    Restart();
  }
  static void Touch(const fs::path& path) { ASSERT_TRUE(ReplaceFile(path, "").has_value()); }

  std::shared_ptr<const HardwareState> State(device::Snapshot snapshot = TestSnapshot()) {
    const fs::path root = dir_.path() / "root";
    return TestState(std::move(snapshot), {.driver = root,
                                           .driver_host = root,
                                           .dev = root,
                                           .dev_host = root,
                                           .sysfs = root / "sys",
                                           .procfs = root / "proc"});
  }

  // A new process on the same files.
  void Restart(std::string boot_id = "boot-1") {
    preparer_.reset();
    journal_ = journal::Journal::Open({.directory = dir_.path() / "plugin"});
    preparer_ = std::make_unique<Preparer>(
        Preparer::Options{
            .node_name = std::string(kNode), .boot_id = std::move(boot_id), .hardware_wait = milliseconds(50)},
        Preparer::Parts{*journal_, leases_, files_, hardware_, claims_, foreign_, events_, metrics_, faults_});
  }

  Result<std::vector<api::PreparedDevice>> Prepare(const api::ResourceClaim& claim) {
    return preparer_->PrepareOne(claim.ref, steady_clock::now() + seconds(20));
  }
  Result<void> Unprepare(const api::ResourceClaim& claim) {
    return preparer_->UnprepareOne(claim.ref, steady_clock::now() + seconds(20));
  }
  api::ResourceClaim Allocated(const std::string& name, std::vector<api::AllocationResult> results) {
    api::ResourceClaim claim = TestClaim(name, std::move(results));
    claims_.Put(claim);
    return claim;
  }
  // A claim for gpu-0 with a config of this kind.
  api::ResourceClaim WithConfig(const std::string& name, std::string_view kind) {
    api::ResourceClaim claim = TestClaim(name, {Gets("gpu-0")});
    claim.allocation->configs = {
        {.source = "FromClaim",
         .requests = {},
         .driver = "gpu.nvidia.com",
         .parameters = json::Object{{"apiVersion", "resource.nvidia.com/v1beta1"}, {"kind", kind}}}};
    claims_.Put(claim);
    return claim;
  }
  fs::path CdiFile(const api::ResourceClaim& claim) {
    return dir_.path() / "cdi" / Format("k8s.gpu.nvidia.com-claim_{}.yaml", claim.ref.uid);
  }
  std::string CodeOf(const Result<std::vector<api::PreparedDevice>>& result) {
    return result ? "" : std::string(result.error().code());
  }

  TempDir dir_ = TempDir::Create("preparer-test").value();
  std::unique_ptr<journal::Journal> journal_;
  journal::Leases leases_{dir_.path() / "leases"};
  cdi::Writer writer_{dir_.path() / "cdi"};
  ClaimFiles files_{writer_};
  Hardware hardware_;
  FakeClaims claims_;
  ForeignHolders foreign_{"/nonexistent"};
  Metrics metrics_{kNode, "test"};
  FakeEvents sink_;
  Events events_{{.node_name = std::string(kNode)}, sink_, metrics_};
  FakeFaults faults_;
  std::unique_ptr<Preparer> preparer_;
};

TEST_F(PreparerTest, PreparesAndUnprepares) {
  const auto claim = Allocated("a", {Gets("gpu-0"), Gets("gpu-1", "more/sub")});
  const auto devices = Prepare(claim);
  ASSERT_TRUE(devices.has_value()) << devices.error().Text();
  ASSERT_THAT(*devices, SizeIs(2));
  EXPECT_THAT((*devices)[1].requests, ElementsAre("more"));
  EXPECT_TRUE(fs::exists(CdiFile(claim)));
  EXPECT_TRUE(fs::exists(dir_.path() / "cdi/k8s.gpu.nvidia.com-base.yaml"));
  EXPECT_EQ(journal_->Find(claim.ref.uid)->state, api::ClaimState::kCompleted);
  ASSERT_TRUE(Unprepare(claim).has_value());
  EXPECT_FALSE(fs::exists(CdiFile(claim)));
  EXPECT_EQ(journal_->Find(claim.ref.uid), nullptr);
}

TEST_F(PreparerTest, RepeatingGivesTheSameAlsoWhileTheServerIsAway) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  const auto first = Prepare(claim);
  Restart();
  EXPECT_EQ(*Prepare(claim), *first);
  claims_.Fail({ErrorKind::kTransient, "ConnectFailed", "away"});
  const auto again = Prepare(claim);
  ASSERT_TRUE(again.has_value()) << again.error().Text();
  EXPECT_EQ(*again, *first);
}

TEST_F(PreparerTest, AClaimThatWasGivenOtherDevicesGetsThose) {
  ASSERT_TRUE(Prepare(Allocated("a", {Gets("gpu-0")})).has_value());
  // Freed and allocated anew while nobody could tell us: the UID is the same.
  const auto devices = Prepare(Allocated("a", {Gets("gpu-1")}));
  ASSERT_TRUE(devices.has_value()) << devices.error().Text();
  EXPECT_EQ(devices->at(0).name, "gpu-1");
  EXPECT_TRUE(Prepare(Allocated("b", {Gets("gpu-0")})).has_value());
}

TEST_F(PreparerTest, ALostCdiFileIsBackAfterARepeat) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  ASSERT_TRUE(Prepare(claim).has_value());
  fs::remove_all(dir_.path() / "cdi");
  ASSERT_TRUE(Prepare(claim).has_value());
  EXPECT_TRUE(fs::exists(CdiFile(claim)));
  EXPECT_TRUE(fs::exists(dir_.path() / "cdi/k8s.gpu.nvidia.com-base.yaml"));
}

TEST_F(PreparerTest, AfterARebootEverythingIsSetUpAgain) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  ASSERT_TRUE(Prepare(claim).has_value());
  fs::remove_all(dir_.path() / "cdi");
  Restart("boot-2");
  ASSERT_TRUE(Prepare(claim).has_value());
  EXPECT_TRUE(fs::exists(CdiFile(claim)));
  EXPECT_EQ(journal_->Find(claim.ref.uid)->boot_id, "boot-2");
  EXPECT_EQ(journal_->Find(claim.ref.uid)->state, api::ClaimState::kCompleted);
}

TEST_F(PreparerTest, ADeviceThatIsGoneIsNotHandedOutAgain) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  ASSERT_TRUE(Prepare(claim).has_value());
  device::Snapshot without = TestSnapshot();
  without.devices.erase(without.devices.begin());
  hardware_.Set(State(without));
  const auto again = Prepare(claim);
  ASSERT_EQ(CodeOf(again), "DeviceLost");
  EXPECT_EQ(again.error().kind(), ErrorKind::kPermanentDevice);
  EXPECT_TRUE(Unprepare(claim).has_value());
}

TEST_F(PreparerTest, UnprepareNeedsNoPrepareNoServerNoDriver) {
  const auto claim = TestClaim("never", {});
  EXPECT_TRUE(Unprepare(claim).has_value());
  EXPECT_TRUE(Unprepare(claim).has_value());
  EXPECT_EQ(claims_.gets(), 0);
}

TEST_F(PreparerTest, OneDeviceHasOneOwner) {
  const auto first = Allocated("first", {Gets("gpu-0")});
  const auto second = Allocated("second", {Gets("gpu-0")});
  ASSERT_TRUE(Prepare(first).has_value());
  const auto refused = Prepare(second);
  ASSERT_EQ(CodeOf(refused), "DeviceInUse");
  EXPECT_THAT(refused.error().message(), HasSubstr("claim ml/first (pod ml/pod-first)"));
  EXPECT_EQ(journal_->Find(second.ref.uid), nullptr);
  ASSERT_TRUE(Unprepare(first).has_value());
  EXPECT_TRUE(Prepare(second).has_value());
}

TEST_F(PreparerTest, AGhostInTheWayIsRemoved) {
  const auto ghost = Allocated("ghost", {Gets("gpu-0")});
  ASSERT_TRUE(Prepare(ghost).has_value());
  claims_.Remove(ghost.ref);  // Deleted while nobody told us.
  const auto next = Allocated("next", {Gets("gpu-0")});
  ASSERT_TRUE(Prepare(next).has_value());
  EXPECT_EQ(journal_->Find(ghost.ref.uid), nullptr);
  EXPECT_FALSE(fs::exists(CdiFile(ghost)));
}

TEST_F(PreparerTest, WhileTheServerIsAwayAConflictIsNoGhost) {
  const auto held = Allocated("held", {Gets("gpu-0")});
  ASSERT_TRUE(Prepare(held).has_value());
  const auto next = Allocated("next", {Gets("gpu-0")});
  claims_.Remove(held.ref);
  const api::ResourceClaim fetched = next;
  // The claim itself is read, then the server goes away.
  class Flaky final : public ClaimSource {
   public:
    Flaky(ClaimSource& real) : real_(real) {}
    Result<api::ResourceClaim> Get(const api::ClaimRef& claim, steady_clock::time_point deadline,
                                   Urgency urgency) override {
      if (claim.name == "held") return Transient("ConnectFailed", "away");
      return real_.Get(claim, deadline, urgency);
    }

   private:
    ClaimSource& real_;
  } flaky(claims_);
  Preparer preparer({.node_name = std::string(kNode), .boot_id = "boot-1"},
                    {*journal_, leases_, files_, hardware_, flaky, foreign_, events_, metrics_, faults_});
  EXPECT_EQ(CodeOf(preparer.PrepareOne(next.ref, steady_clock::now() + seconds(5))), "DeviceInUse");
}

TEST_F(PreparerTest, AdminAccessTakesNothingAway) {
  api::AllocationResult admin = Gets("gpu-0");
  admin.admin_access = true;
  EXPECT_TRUE(Prepare(Allocated("watch-1", {admin})).has_value());
  EXPECT_TRUE(Prepare(Allocated("owner", {Gets("gpu-0")})).has_value());
  EXPECT_TRUE(Prepare(Allocated("watch-2", {admin})).has_value());
}

TEST_F(PreparerTest, FaultsOfAClaimAreNamed) {
  api::ResourceClaim replaced = Allocated("replaced", {Gets("gpu-0")});
  replaced.ref.uid = "uid-old";
  EXPECT_EQ(CodeOf(Prepare(replaced)), "ClaimReplaced");
  EXPECT_EQ(CodeOf(Prepare(TestClaim("missing", {}))), "ClaimNotFound");
  EXPECT_EQ(CodeOf(Prepare(Allocated("nowhere", {Gets("gpu-9")}))), "DeviceNotFound");
  api::ResourceClaim bad = Allocated("bad", {Gets("gpu-0")});
  bad.ref.uid = "../../etc";
  EXPECT_EQ(CodeOf(Prepare(bad)), "BadClaimUid");
  EXPECT_TRUE(Unprepare(bad).has_value());
  EXPECT_THAT(journal_->All(), IsEmpty());
}

TEST_F(PreparerTest, AFailureIsToldAndSoIsItsEnd) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  claims_.Fail({ErrorKind::kTransient, "ApiServerError", "the server said no"});
  EXPECT_EQ(CodeOf(Prepare(claim)), "ApiServerError");
  EXPECT_TRUE(Prepare(claim).has_value());
  while (sink_.texts().size() < 2) std::this_thread::yield();
  EXPECT_THAT(sink_.texts()[0], HasSubstr("ApiServerError: reading claim ml/a: the server said no"));
  EXPECT_EQ(sink_.texts()[1], "ClaimPrepared: prepared after ApiServerError");
  EXPECT_EQ(metrics_.errors.With({"prepare", "ApiServerError", "transient"}).value(), 1);
}

TEST_F(PreparerTest, AHalfPreparedClaimIsFinishedByTheNextCall) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  ASSERT_TRUE(ReplaceFile(dir_.path() / "cdi", "a file where the directory should be").has_value());
  EXPECT_EQ(CodeOf(Prepare(claim)), "CdiWriteFailed");
  EXPECT_EQ(journal_->Find(claim.ref.uid)->state, api::ClaimState::kStarted);
  fs::remove(dir_.path() / "cdi");
  Restart();
  EXPECT_TRUE(Prepare(claim).has_value());
  EXPECT_EQ(journal_->Find(claim.ref.uid)->state, api::ClaimState::kCompleted);
}

TEST_F(PreparerTest, AClaimWhoseCompletionWasNotNotedIsAnsweredWhileTheServerIsAway) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  const auto first = Prepare(claim);
  ASSERT_TRUE(first.has_value()) << first.error().Text();
  api::PreparedClaim started = *journal_->Find(claim.ref.uid);
  started.state = api::ClaimState::kStarted;
  ASSERT_TRUE(journal_->Start(started).has_value());
  Restart();
  claims_.Fail({ErrorKind::kTransient, "ConnectFailed", "away"});
  const auto again = preparer_->PrepareOne(claim.ref, steady_clock::now() + seconds(5));
  ASSERT_TRUE(again.has_value()) << again.error().Text();
  EXPECT_EQ(*again, *first);
  EXPECT_EQ(journal_->Find(claim.ref.uid)->state, api::ClaimState::kCompleted);
}

TEST_F(PreparerTest, AClaimThatTheGoDriverOnlyStartedIsPlannedAnew) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  api::PreparedClaim started;
  started.claim.uid = claim.ref.uid;  // Its older checkpoints have no names.
  started.boot_id = "boot-1";
  started.origin = "go";
  ASSERT_TRUE(journal_->Start(started).has_value());
  const auto devices = Prepare(claim);
  ASSERT_TRUE(devices.has_value()) << devices.error().Text();
  ASSERT_THAT(*devices, SizeIs(1));
  EXPECT_EQ(devices->at(0).name, "gpu-0");
}

TEST_F(PreparerTest, AHalfPreparedClaimKeepsItsDeviceAndCanBeUndone) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  ASSERT_TRUE(ReplaceFile(dir_.path() / "cdi", "").has_value());
  EXPECT_EQ(CodeOf(Prepare(claim)), "CdiWriteFailed");
  EXPECT_EQ(CodeOf(Prepare(Allocated("b", {Gets("gpu-0")}))), "DeviceInUse");
  EXPECT_TRUE(Unprepare(claim).has_value());
  EXPECT_THAT(journal_->All(), IsEmpty());
}

TEST_F(PreparerTest, ClaimsOfOneCallAreAnsweredEach) {
  const auto good = Allocated("good", {Gets("gpu-0")});
  const auto bad = TestClaim("bad", {});
  std::promise<kubelet::Answers> promise;
  preparer_->Prepare(
      {good.ref, bad.ref}, steady_clock::now() + seconds(20),
      [&](kubelet::Answers answers, const std::function<void()>&) { promise.set_value(std::move(answers)); });
  const kubelet::Answers answers = promise.get_future().get();
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0].uid, good.ref.uid);
  EXPECT_FALSE(answers[0].error.has_value());
  EXPECT_EQ(answers[1].error->code(), "ClaimNotFound");
}

TEST_F(PreparerTest, OneCallMayUseItsCallersThreadAndLeavesTheBookkeepingForLater) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  Preparer preparer({.node_name = std::string(kNode), .boot_id = "boot-1", .use_callers_thread = true},
                    {*journal_, leases_, files_, hardware_, claims_, foreign_, events_, metrics_, faults_});
  std::function<void()> left;
  preparer.Prepare({claim.ref}, steady_clock::now() + seconds(20),
                   [&](const kubelet::Answers& answers, std::function<void()> afterwards) {
                     EXPECT_FALSE(answers.at(0).error.has_value());
                     left = std::move(afterwards);
                   });
  ASSERT_TRUE(left) << "was not answered on this thread";
  EXPECT_TRUE(fs::exists(CdiFile(claim)));
  EXPECT_EQ(journal_->Find(claim.ref.uid)->state, api::ClaimState::kStarted);
  EXPECT_TRUE(*leases_.IsHeld(ClaimLease(claim.ref.uid)));
  left();
  left = nullptr;
  EXPECT_EQ(journal_->Find(claim.ref.uid)->state, api::ClaimState::kCompleted);
  EXPECT_FALSE(*leases_.IsHeld(ClaimLease(claim.ref.uid)));
}

TEST_F(PreparerTest, TheSameClaimFromManyCallersIsPreparedOnce) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  std::vector<std::future<std::string>> callers;
  for (int i = 0; i < 8; ++i) callers.push_back(std::async(std::launch::async, [&] { return CodeOf(Prepare(claim)); }));
  for (auto& caller : callers) EXPECT_EQ(caller.get(), "");
  EXPECT_EQ(journal_->stats().appends, 2U);  // Intent and completion, once.
}

TEST_F(PreparerTest, UnprepareDoesNotWaitForAServerThatHangs) {
  const auto done = Allocated("done", {Gets("gpu-1")});
  ASSERT_TRUE(Prepare(done).has_value());
  std::latch hanging(1);
  std::latch release(1);
  class Hanging final : public ClaimSource {
   public:
    Hanging(std::latch& hanging, std::latch& release) : hanging_(hanging), release_(release) {}
    Result<api::ResourceClaim> Get(const api::ClaimRef&, steady_clock::time_point, Urgency) override {
      hanging_.count_down();
      release_.wait();
      return Transient("HttpTimeout", "hung");
    }

   private:
    std::latch& hanging_;
    std::latch& release_;
  } source(hanging, release);
  Preparer preparer({.node_name = std::string(kNode), .boot_id = "boot-1"},
                    {*journal_, leases_, files_, hardware_, source, foreign_, events_, metrics_, faults_});
  std::promise<kubelet::Answers> prepared;
  preparer.Prepare(
      {TestClaim("a", {}).ref}, steady_clock::now() + seconds(20),
      [&](kubelet::Answers answers, const std::function<void()>&) { prepared.set_value(std::move(answers)); });
  hanging.wait();
  std::promise<kubelet::Answers> unprepared;
  preparer.Unprepare(
      {done.ref}, steady_clock::now() + seconds(20),
      [&](kubelet::Answers answers, const std::function<void()>&) { unprepared.set_value(std::move(answers)); });
  EXPECT_FALSE(unprepared.get_future().get().at(0).error.has_value());
  release.count_down();
  EXPECT_EQ(prepared.get_future().get().at(0).error->code(), "HttpTimeout");
}

TEST_F(PreparerTest, ClaimsOfOneCallNameEachOthersFaults) {
  const auto first = Allocated("first", {Gets("gpu-8")});
  const auto second = Allocated("second", {Gets("gpu-9", "other")});
  std::promise<kubelet::Answers> promise;
  preparer_->Prepare(
      {first.ref, second.ref}, steady_clock::now() + seconds(20),
      [&](kubelet::Answers answers, const std::function<void()>&) { promise.set_value(std::move(answers)); });
  for (const kubelet::ClaimAnswer& answer : promise.get_future().get()) {
    EXPECT_THAT(answer.error->Text(), HasSubstr("device gpu-8 of request gpus"));
    EXPECT_THAT(answer.error->Text(), HasSubstr("device gpu-9 of request other"));
  }
}

TEST_F(PreparerTest, AllHoldersOfAClaimsDevicesAreNamed) {
  ASSERT_TRUE(Prepare(Allocated("a", {Gets("gpu-0")})).has_value());
  ASSERT_TRUE(Prepare(Allocated("b", {Gets("gpu-1")})).has_value());
  const auto refused = Prepare(Allocated("c", {Gets("gpu-0"), Gets("gpu-1")}));
  ASSERT_EQ(CodeOf(refused), "DeviceInUse");
  EXPECT_THAT(refused.error().Text(), HasSubstr("gpu-0 is prepared for claim ml/a"));
  EXPECT_THAT(refused.error().Text(), HasSubstr("gpu-1 is prepared for claim ml/b"));
}

TEST_F(PreparerTest, ADeviceFaultIsToldToHealthAndTheClaimHoldsNothing) {
  fs::remove(dir_.path() / "root/dev/nvidia0");
  fs::remove(dir_.path() / "root/dev/nvidia1");
  const auto refused = Prepare(Allocated("a", {Gets("gpu-0"), Gets("gpu-1", "more")}));
  ASSERT_EQ(CodeOf(refused), "DeviceNodeMissing");
  EXPECT_EQ(refused.error().kind(), ErrorKind::kPermanentDevice);
  EXPECT_THAT(refused.error().Text(), HasSubstr("request gpus (gpu-0): "));
  EXPECT_THAT(refused.error().Text(), HasSubstr("request more (gpu-1): "));
  EXPECT_THAT(faults_.told(), ElementsAre("gpu-0: DeviceNodeMissing", "gpu-1: DeviceNodeMissing"));
  EXPECT_THAT(journal_->All(), IsEmpty());
}

TEST_F(PreparerTest, AConfigFaultIsNeverToldToHealth) {
  EXPECT_EQ(CodeOf(Prepare(WithConfig("a", "GpuConfg"))), "BadDeviceConfig");
  EXPECT_THAT(faults_.told(), IsEmpty());
}

TEST_F(PreparerTest, WhatHealthKnowsToBeLostIsRefusedInItsWordsButNotToMonitoring) {
  faults_.Lose("gpu-0", {ErrorKind::kPermanentDevice, "Xid79", "the GPU has fallen off the bus", "Reset it."});
  const auto refused = Prepare(Allocated("a", {Gets("gpu-0")}));
  ASSERT_EQ(CodeOf(refused), "Xid79");
  EXPECT_EQ(refused.error().Text(), "request gpus (gpu-0): the GPU has fallen off the bus; Reset it.");
  api::AllocationResult admin = Gets("gpu-0");
  admin.admin_access = true;
  EXPECT_TRUE(Prepare(Allocated("monitor", {admin})).has_value());
}

TEST_F(PreparerTest, AHundredClaimsOfOneTemplateAreLookedAtOnce) {
  fs::remove(dir_.path() / "root/dev/nvidia0");
  const auto first = Prepare(Allocated("first", {Gets("gpu-0")}));
  const auto appends = journal_->stats().appends;
  const auto gets = claims_.gets();
  for (int i = 0; i < 99; ++i) {
    const auto repeat = Prepare(Allocated(Format("replacement-{}", i), {Gets("gpu-0")}));
    ASSERT_FALSE(repeat.has_value());
    EXPECT_EQ(repeat.error(), first.error());
  }
  EXPECT_EQ((*metrics_.refused_again).value(), 99);
  EXPECT_EQ(journal_->stats().appends, appends) << "no repeat may write";
  EXPECT_EQ(claims_.gets(), gets + 99) << "one read a claim, to know what it asks for";
  EXPECT_THAT(faults_.told(), SizeIs(1));
}

TEST_F(PreparerTest, OneEventOnTheNodeSpeaksForAllClaims) {
  for (int i = 0; i < 3; ++i) (void)Prepare(WithConfig(Format("claim-{}", i), "GpuConfg"));
  while (sink_.texts().size() < 4 || metrics_.events.With({"merged"}).value() < 2) std::this_thread::yield();
  const auto on_node = [](const json::Value& event) { return event.at("involvedObject").at("kind") == "Node"; };
  EXPECT_EQ(std::ranges::count_if(sink_.events(), on_node), 1);
}

TEST_F(PreparerTest, ARefusalIsTriedAgainAfterAnyChange) {
  fs::remove(dir_.path() / "root/dev/nvidia0");
  const auto claim = Allocated("a", {Gets("gpu-0")});
  const auto looks = [&] { return faults_.told().size(); };
  (void)Prepare(claim);
  ASSERT_EQ(looks(), 1U);

  device::Snapshot upgraded = TestSnapshot();
  upgraded.driver_version = "590.1.1";
  hardware_.Set(State(upgraded));
  (void)Prepare(claim);
  EXPECT_EQ(looks(), 2U) << "another driver";

  faults_.SetWords("recovering");
  (void)Prepare(claim);
  EXPECT_EQ(looks(), 3U) << "health thinks otherwise";

  device::Snapshot swapped = upgraded;
  swapped.devices[0].gpu.uuid = "GPU-00000000-0000-0000-0000-00000000000f";
  hardware_.Set(State(swapped));
  (void)Prepare(claim);
  EXPECT_EQ(looks(), 4U) << "another board";

  (void)Prepare(WithConfig("a", "GpuConfig"));
  EXPECT_EQ(looks(), 5U) << "another config";

  (void)Prepare(WithConfig("a", "GpuConfig"));
  EXPECT_EQ(looks(), 5U) << "nothing changed";
  Touch(dir_.path() / "root/dev/nvidia0");
  faults_.SetWords("");  // Health saw it come back.
  EXPECT_TRUE(Prepare(claim).has_value());
}

TEST_F(PreparerTest, ALostDeviceOfAPreparedClaimIsLookedForOnce) {
  const auto claim = Allocated("a", {Gets("gpu-0")});
  ASSERT_TRUE(Prepare(claim).has_value());
  device::Snapshot without = TestSnapshot();
  without.devices.erase(without.devices.begin());
  hardware_.Set(State(without));
  ASSERT_EQ(CodeOf(Prepare(claim)), "DeviceLost");
  EXPECT_EQ(CodeOf(Prepare(claim)), "DeviceLost");
  EXPECT_THAT(faults_.told(), ElementsAre("gpu-0: DeviceLost"));
  hardware_.Set(State());
  EXPECT_TRUE(Prepare(claim).has_value());
}

}  // namespace
}  // namespace tessera::driver
