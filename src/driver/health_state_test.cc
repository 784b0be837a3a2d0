#include "driver/health_state.h"

#include <gtest/gtest.h>

#include "base/fd.h"

namespace tessera::driver {
namespace {

using std::chrono::seconds;

class HealthStateTest : public ::testing::Test {
 protected:
  static health::SavedHealth Ill() {
    health::SavedHealth health{.boot_id = "boot", .gpus = {{.uuid = "GPU-1"}}};
    health.gpus[0].reasons.push_back({.kind = health::Kind::kXid, .detail = "79"});
    return health;
  }
  health::SavedHealth OnDisk() const { return health::LoadHealth(file_).value; }

  const TempDir dir_ = TempDir::Create("health").value();
  const std::filesystem::path file_ = dir_.path() / "health.json";
  HealthState state_{file_};
  const HealthState::Time now_ = std::chrono::steady_clock::now();
};

TEST_F(HealthStateTest, KeepsANewReasonAtOnceAndWhatGoesOnOnceAMinute) {
  ASSERT_EQ(state_.Load().value, health::SavedHealth());
  health::SavedHealth health = Ill();
  ASSERT_TRUE(state_.KeepIfDue(health, now_).has_value());
  EXPECT_EQ(OnDisk(), health);

  health.gpus[0].reasons[0].bad_ago = 5;
  health.gpus[0].corrected = 77;
  ASSERT_TRUE(state_.KeepIfDue(health, now_ + seconds(5)).has_value());
  EXPECT_EQ(OnDisk(), Ill());
  ASSERT_TRUE(state_.KeepIfDue(health, now_ + seconds(60)).has_value());
  EXPECT_EQ(OnDisk(), health);

  health.gpus[0].reasons[0].phase = health::Phase::kRecovering;
  ASSERT_TRUE(state_.KeepIfDue(health, now_ + seconds(61)).has_value());
  EXPECT_EQ(OnDisk(), health);
}

TEST_F(HealthStateTest, DoesNotWriteWhatIsThere) {
  ASSERT_TRUE(state_.Keep(Ill()).has_value());
  std::filesystem::remove(file_);
  ASSERT_TRUE(state_.KeepIfDue(Ill(), now_ + std::chrono::hours(1)).has_value());
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(HealthStateTest, TriesAgainAfterAMinuteWhenTheDiskFailed) {
  (void)state_.Load();
  std::filesystem::create_directory(file_);  // In the way of the rename.
  EXPECT_FALSE(state_.KeepIfDue(Ill(), now_).has_value());
  std::filesystem::remove(file_);
  ASSERT_TRUE(state_.KeepIfDue(Ill(), now_ + seconds(5)).has_value());
  EXPECT_FALSE(std::filesystem::exists(file_)) << "not again at once";
  ASSERT_TRUE(state_.KeepIfDue(Ill(), now_ + seconds(60)).has_value());
  EXPECT_EQ(OnDisk(), Ill());
}

}  // namespace
}  // namespace tessera::driver
