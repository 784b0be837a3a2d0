#include "driver/claim_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/fd.h"
#include "driver/health_test_parts.h"

namespace tessera::driver {
namespace {

using std::chrono::hours;
using ::testing::SizeIs;

class ClaimHistoryTest : public ::testing::Test {
 protected:
  ClaimHistoryTest() {
    clock_.Set(std::chrono::system_clock::time_point(hours(490'000)));
    Restart();
  }
  void Restart() {
    history_ = std::make_unique<ClaimHistory>(
        ClaimHistory::Options{.directory = dir_.path(), .keep = [] { return hours(24); }, .clock = &clock_}, *journal_,
        trouble_);
    history_->SetHealth(TestHealth("gpu-0", {StandingXid(79)}));
    history_->Pass();
  }
  void Finish(const std::string& name, const std::vector<std::string>& devices) {
    Prepare(*journal_, TestPrepared(name, devices));
    history_->Pass();
    ASSERT_TRUE(journal_->Forget("uid-" + name).has_value());
    history_->Pass();
  }
  std::vector<health::PastClaim> File() const {
    return health::LoadHistory(dir_.path() / health::kHistoryFile).value.claims;
  }

  const TempDir dir_ = TempDir::Create("claim-history-test").value();
  FakeClock clock_;
  FakeEvents sink_;
  Metrics metrics_{kNode, "test"};
  Events events_{{.node_name = std::string(kNode)}, sink_, metrics_};
  Trouble trouble_{std::string(kNode), events_};
  std::unique_ptr<journal::Journal> journal_ = journal::Journal::Open({.directory = dir_.path()});
  std::unique_ptr<ClaimHistory> history_;
};

TEST_F(ClaimHistoryTest, AFinishedClaimsDevicesAreRememberedAsTheyWere) {
  Finish("a", {"gpu-0", "gpu-1"});
  history_->SetHealth(TestHealth());  // What comes later does not matter.
  history_->Pass();
  ASSERT_THAT(File(), SizeIs(1));
  const health::PastClaim past = File()[0];
  EXPECT_EQ(past.name, "a");
  ASSERT_THAT(past.devices, SizeIs(2));
  EXPECT_EQ(past.devices[0].device, "gpu-0");
  EXPECT_EQ(past.devices[0].health, health::Health::kUnhealthy);
  EXPECT_EQ(past.devices[0].message, "Xid79: Xid 79 was seen. Reset it.");
  EXPECT_EQ(past.devices[1].health, health::Health::kHealthy);
}

TEST_F(ClaimHistoryTest, ADeviceOfWhichNothingIsKnownIsNamed) {
  history_->SetHealth(nullptr);
  Finish("a", {"gpu-0"});
  ASSERT_THAT(File(), SizeIs(1));
  EXPECT_EQ(File()[0].devices.at(0).uuid, TestGpu(0).gpu.uuid);
  EXPECT_EQ(File()[0].devices.at(0).health, health::Health::kUnknown);
}

TEST_F(ClaimHistoryTest, ARestartForgetsNothing) {
  Finish("a", {"gpu-0"});
  Restart();
  Finish("b", {"gpu-1"});
  EXPECT_THAT(File(), SizeIs(2));
}

TEST_F(ClaimHistoryTest, AfterADayItIsForgotten) {
  Finish("a", {"gpu-0"});
  clock_.Advance(hours(23));
  Finish("b", {"gpu-0"});
  EXPECT_THAT(File(), SizeIs(2));
  clock_.Advance(hours(2));
  history_->Pass();
  ASSERT_THAT(File(), SizeIs(1));
  EXPECT_EQ(File()[0].name, "b");
}

TEST_F(ClaimHistoryTest, AFileThatCannotBeWrittenIsTriedAgain) {
  std::filesystem::create_directory(dir_.path() / health::kHistoryFile);  // Nothing can be renamed over it.
  Finish("a", {"gpu-0"});
  std::filesystem::remove(dir_.path() / health::kHistoryFile);
  history_->Pass();
  EXPECT_THAT(File(), SizeIs(1));
}

// Says when it was asked, which each look does after it has read the journal.
class NoticingClock final : public Clock {
 public:
  std::chrono::system_clock::time_point Now() const override {
    asked_ = true;
    asked_.notify_all();
    return SystemClock().Now();
  }
  std::chrono::steady_clock::time_point Monotonic() const override { return SystemClock().Monotonic(); }
  void Wait() const { asked_.wait(false); }

 private:
  mutable std::atomic<bool> asked_ = false;
};

TEST_F(ClaimHistoryTest, TheLastClaimBeforeTheEndIsWritten) {
  Prepare(*journal_, TestPrepared("a", {"gpu-0"}));
  const NoticingClock clock;
  ClaimHistory history(
      {.directory = dir_.path(), .keep = [] { return hours(24); }, .look_interval = hours(1), .clock = &clock},
      *journal_, trouble_);
  history.SetActive(true);
  clock.Wait();
  ASSERT_TRUE(journal_->Forget("uid-a").has_value());
  history.Stop();
  EXPECT_THAT(File(), SizeIs(1));
}

}  // namespace
}  // namespace tessera::driver
