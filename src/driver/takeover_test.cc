#include "driver/takeover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "driver/claim_plan.h"
#include "driver/test_parts.h"
#include "tests/support/paths.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class TakeoverTest : public ::testing::Test {
 protected:
  TakeoverTest() { Restart(); }
  void Restart() { journal_ = journal::Journal::Open({.directory = dir_.path()}); }
  void Hold(const std::string& name, const std::string& device) {
    auto claim = PlanClaim(TestClaim(name, {Gets(device)}), *TestState(), kNode, "boot-1").value();
    claim.state = api::ClaimState::kCompleted;
    ASSERT_TRUE(journal_->Start(claim).has_value());
  }
  std::string Checkpoint() { return ReadFile(dir_.path() / "checkpoint.json").value_or(""); }
  // What the Go driver writes for these claims: of another journal, so not one of ours.
  std::string GoCheckpoint(const std::vector<std::string>& names) {
    const TempDir other = TempDir::Create("go").value();
    const auto journal = journal::Journal::Open({.directory = other.path()});
    unsigned gpu = 0;
    for (const std::string& name : names) {
      auto claim = PlanClaim(TestClaim(name, {Gets(Format("gpu-{}", gpu++))}), *TestState(), kNode, "boot-1").value();
      claim.state = api::ClaimState::kCompleted;
      EXPECT_TRUE(journal->Start(claim).has_value());
    }
    EXPECT_TRUE(KeepCheckpoint(other.path(), *journal, "boot-1").has_value());
    return ReadFile(other.path() / "checkpoint.json").value();
  }
  Result<Adoption> Adopt(const std::string& boot = "boot-1") {
    return AdoptCheckpoint(dir_.path(), *journal_, boot, [this] { return mig_on_demand_; });
  }

  TempDir dir_ = TempDir::Create("takeover-test").value();
  std::unique_ptr<journal::Journal> journal_;
  Result<MigOnDemand> mig_on_demand_ = std::nullopt;
};

TEST_F(TakeoverTest, ClaimsOfTheGoDriverBecomeOurs) {
  ASSERT_TRUE(ReplaceFile(dir_.path() / "checkpoint.json", GoCheckpoint({"a", "b"})).has_value());
  const auto adopted = Adopt();
  ASSERT_TRUE(adopted.has_value()) << adopted.error().Text();
  EXPECT_EQ(adopted->adopted, 2U);
  Restart();
  const auto claim = journal_->Find("uid-a");
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(claim->state, api::ClaimState::kCompleted);
  EXPECT_EQ(claim->origin, "go");
  EXPECT_EQ(claim->devices.at(0).hardware.gpu_uuid, TestGpu(0).gpu.uuid);
  EXPECT_EQ(Adopt()->adopted, 0U);  // Twice is once.
}

TEST_F(TakeoverTest, WhatWeWroteIsNotTakenForTheGoDrivers) {
  Hold("a", "gpu-0");
  ASSERT_TRUE(KeepCheckpoint(dir_.path(), *journal_, "boot-1").has_value());
  Hold("b", "gpu-1");  // Not in the checkpoint yet: we crash now.
  Restart();
  EXPECT_EQ(Adopt()->forgotten, 0U);
  EXPECT_THAT(journal_->All(), SizeIs(2));
}

TEST_F(TakeoverTest, ACrashBetweenTheTwoFilesIsHarmless) {
  Hold("a", "gpu-0");
  ASSERT_TRUE(KeepCheckpoint(dir_.path(), *journal_, "boot-1").has_value());
  const std::string before = Checkpoint();
  Hold("b", "gpu-1");
  ASSERT_TRUE(KeepCheckpoint(dir_.path(), *journal_, "boot-1").has_value());
  ASSERT_TRUE(ReplaceFile(dir_.path() / "checkpoint.json", before).has_value());  // As if the second was not written.
  EXPECT_EQ(Adopt()->forgotten, 0U);
  EXPECT_THAT(journal_->All(), SizeIs(2));
}

TEST_F(TakeoverTest, ACheckpointThatACrashLeftBehindIsWrittenAgain) {
  Hold("a", "gpu-0");
  ASSERT_TRUE(KeepCheckpoint(dir_.path(), *journal_, "boot-1").has_value());
  const std::string wanted = Checkpoint();
  ASSERT_TRUE(
      ReplaceFile(dir_.path() / "checkpoint.json", "{}").has_value());  // As if only the first file was written.
  ASSERT_TRUE(KeepCheckpoint(dir_.path(), *journal_, "boot-1").has_value());
  EXPECT_EQ(Checkpoint(), wanted);
}

TEST_F(TakeoverTest, WhatTheGoDriverDidMeanwhileIsTrue) {
  Hold("a", "gpu-0");
  Hold("b", "gpu-1");
  ASSERT_TRUE(KeepCheckpoint(dir_.path(), *journal_, "boot-1").has_value());
  // Back to the Go driver, which unprepares "a" and prepares "c"; then we come again.
  ASSERT_TRUE(ReplaceFile(dir_.path() / "checkpoint.json", GoCheckpoint({"c", "b"})).has_value());
  Restart();
  const auto adopted = Adopt();
  EXPECT_EQ(adopted->adopted, 1U);
  EXPECT_EQ(adopted->forgotten, 1U);
  EXPECT_EQ(journal_->Find("uid-a"), nullptr);
  EXPECT_NE(journal_->Find("uid-c"), nullptr);
}

TEST_F(TakeoverTest, TheReleaseThatWasHereGetsBackItsOwnForm) {
  const auto text = ReadFile(Format("{}/tests/testdata/checkpoints/v25.12.0.json", TESSERA_SOURCE_DIR)).value();
  ASSERT_TRUE(ReplaceFile(dir_.path() / "checkpoint.json", text).has_value());
  ASSERT_EQ(Adopt()->adopted, 3U);
  ASSERT_TRUE(KeepCheckpoint(dir_.path(), *journal_, "boot-1").has_value());
  EXPECT_EQ(Checkpoint(), text);
  for (const journal::ClaimPtr& claim : journal_->All()) ASSERT_TRUE(journal_->Forget(claim->claim.uid).has_value());
  Hold("a", "gpu-0");  // Also when none of its claims is left.
  for (int twice = 0; twice < 2; ++twice) {
    Restart();
    ASSERT_TRUE(KeepCheckpoint(dir_.path(), *journal_, "boot-1").has_value());
    EXPECT_THAT(Checkpoint(), HasSubstr(R"("configState":{"mpsControlDaemonID":""})"));
    EXPECT_THAT(Checkpoint(), Not(HasSubstr("nodeBootID")));
    Hold("b", "gpu-1");
  }
}

TEST_F(TakeoverTest, MigDevicesThatWereMadeOnDemandAreRefusedByNameAlsoWhenTheirSlicesAreGone) {
  const auto text = ReadFile(Format("{}/tests/testdata/checkpoints/v25.12.0.json", TESSERA_SOURCE_DIR)).value();
  ASSERT_TRUE(ReplaceFile(dir_.path() / "checkpoint.json", text).has_value());
  const std::set<std::string> made{"gpu-1-mig-1g24gb-19-0", "gpu-7-mig-1g5gb-19-0"};
  for (const MigOnDemand& offered : {MigOnDemand(made), MigOnDemand()}) {
    mig_on_demand_ = offered;
    Restart();
    const auto refused = Adopt();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), "UnservedClaims");
    EXPECT_THAT(refused.error().message(), HasSubstr(R"((MIG device "gpu-1-mig-1g24gb-19-0", made on demand))"));
    EXPECT_THAT(refused.error().message(), Not(HasSubstr("gpu-7")));
    EXPECT_THAT(journal_->All(), SizeIs(0));
  }
  mig_on_demand_ = std::set<std::string>();  // The Go driver is back without DynamicMIG.
  EXPECT_EQ(Adopt()->adopted, 3U);
}

TEST_F(TakeoverTest, WhileNobodyCanSayWhatMigDevicesAreNoneIsTaken) {
  const auto text = ReadFile(Format("{}/tests/testdata/checkpoints/v25.12.0.json", TESSERA_SOURCE_DIR)).value();
  ASSERT_TRUE(ReplaceFile(dir_.path() / "checkpoint.json", text).has_value());
  mig_on_demand_ = Transient("ConnectFailed", "the API server does not answer");
  EXPECT_EQ(Adopt().error().code(), "ConnectFailed");
  EXPECT_THAT(journal_->All(), SizeIs(0));
  ASSERT_TRUE(ReplaceFile(dir_.path() / "checkpoint.json", GoCheckpoint({"a"})).has_value());
  EXPECT_EQ(Adopt()->adopted, 1U);  // Full GPUs are not asked about.
}

TEST_F(TakeoverTest, OfAnotherBootNothingIsTaken) {
  ASSERT_TRUE(ReplaceFile(dir_.path() / "checkpoint.json", GoCheckpoint({"a"})).has_value());
  EXPECT_EQ(Adopt("boot-2")->adopted, 0U);
}

TEST_F(TakeoverTest, AnUnreadableCheckpointIsPutAside) {
  ASSERT_TRUE(ReplaceFile(dir_.path() / "checkpoint.json", "{torn").has_value());
  const auto adopted = Adopt();
  ASSERT_FALSE(adopted.has_value());
  EXPECT_EQ(adopted.error().code(), "BadCheckpoint");
  EXPECT_TRUE(fs::exists(dir_.path() / "checkpoint.json.quarantine"));
  EXPECT_TRUE(Adopt().has_value());
}

TEST_F(TakeoverTest, TheGoDriverCannotPrepareWhileWeLive) {
  auto ours = HoldGoLock(dir_.path());
  ASSERT_TRUE(ours.has_value() && ours->has_value());
  EXPECT_TRUE(HoldGoLock(dir_.path())->has_value());  // A second instance of ours can.
  const UniqueFd go(::open((dir_.path() / "pu.lock").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_NE(::flock(go.get(), LOCK_EX | LOCK_NB), 0);
  *ours = std::nullopt;
  ASSERT_EQ(::flock(go.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(HoldGoLock(dir_.path())->has_value());  // And while it prepares, we wait.
}

}  // namespace
}  // namespace tessera::driver
