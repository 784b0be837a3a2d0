#include "health/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/fd.h"
#include "base/text.h"
#include "health/test_parts.h"

namespace tessera::health {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StateFile : public ::testing::Test {
 protected:
  TempDir dir_ = TempDir::Create("health-state-test").value();
  const fs::path path_ = dir_.path() / "health.json";
};

SavedHealth Sample() {
  Monitor monitor;
  monitor.SetDevices(FullGpus(2), At(seconds{0}));
  nvml::GpuVitals vitals = GoodVitals(0);
  vitals.remap_failed = true;
  monitor.Observe(MachineOf({vitals, GoodVitals(1)}), At(seconds{0}));
  nvml::GpuEvent event = XidEvent(1, 119);
  event.gpu_instance = 2;
  event.compute_instance = 0;
  monitor.Observe(event, At(seconds{1}));
  (void)monitor.Tick(At(seconds{2}));
  vitals.remap_failed = false;
  monitor.Observe(MachineOf({vitals, GoodVitals(1)}), At(seconds{7}));
  (void)monitor.Tick(At(seconds{7}));
  return monitor.Save("boot-1", At(seconds{9}));
}

TEST_F(StateFile, ReadsBackWhatWasWritten) {
  const SavedHealth health = Sample();
  ASSERT_THAT(health.gpus, SizeIs(2));
  ASSERT_THAT(health.gpus[0].reasons, SizeIs(1));
  EXPECT_TRUE(health.gpus[0].reasons[0].proven_for);
  ASSERT_TRUE(StoreHealth(path_, health).has_value());
  const auto loaded = LoadHealth(path_);
  EXPECT_FALSE(loaded.damage);
  EXPECT_EQ(loaded.value, health);
}

TEST_F(StateFile, MayBeAbsent) {
  const auto loaded = LoadHealth(path_);
  EXPECT_FALSE(loaded.damage);
  EXPECT_THAT(loaded.value.gpus, IsEmpty());
}

TEST_F(StateFile, FieldsOfANewerVersionDoNotMatter) {
  ASSERT_TRUE(
      ReplaceFile(path_, R"({"version":1,"bootID":"b","gpus":[{"uuid":"GPU-a","color":3}],"x":{}})").has_value());
  const auto loaded = LoadHealth(path_);
  EXPECT_FALSE(loaded.damage);
  ASSERT_THAT(loaded.value.gpus, SizeIs(1));
}

TEST_F(StateFile, ADamagedFileIsSetAsideAndSaidSo) {
  constexpr std::array<std::string_view, 6> kDamaged{
      "", "{", "[]", R"({"version":2,"bootID":"b"})", R"({"version":1,"bootID":7})", "\xff\xfe"};
  for (const std::string_view content : kDamaged) {
    SCOPED_TRACE(content);
    ASSERT_TRUE(ReplaceFile(path_, content).has_value());
    const auto loaded = LoadHealth(path_);
    ASSERT_TRUE(loaded.damage);
    EXPECT_EQ(loaded.damage->code(), "HealthStateDamaged");
    EXPECT_THAT(loaded.damage->message(), HasSubstr("set aside as"));
    EXPECT_THAT(loaded.value.gpus, IsEmpty());
    EXPECT_FALSE(fs::exists(path_));
    EXPECT_EQ(ReadFile(path_.string() + ".damaged").value(), content);
  }
}

TEST_F(StateFile, EveryTornFileIsDamagedAndNoneIsFatal) {
  ASSERT_TRUE(StoreHealth(path_, Sample()).has_value());
  const std::string whole = ReadFile(path_).value();
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
    ASSERT_TRUE(ReplaceFile(path_, whole.substr(0, size)).has_value());
    EXPECT_TRUE(LoadHealth(path_).damage) << size;
  }
}

TEST_F(StateFile, NumbersThatMakeNoSenseAreSurvived) {
  SavedHealth health = Sample();
  for (SavedGpu& gpu : health.gpus) {
    for (SavedReason& reason : gpu.reasons) {
      reason.since = reason.bad_ago = std::numeric_limits<std::int64_t>::max();
      reason.last_seen = reason.bad_for = std::numeric_limits<std::int64_t>::min();
      reason.proven_for = std::nullopt;
      reason.phase = Phase::kRecovering;
      reason.times = 0;
    }
  }
  Monitor monitor;
  monitor.Restore(health, "boot-1", At(seconds{0}));
  monitor.SetDevices(FullGpus(2), At(seconds{0}));
  (void)monitor.Tick(At(seconds{0}));
  EXPECT_EQ(monitor.Find("gpu-0")->state, State::kUnhealthy) << "not proven, so it stands";
}

PastClaim Finished(std::string uid, std::int64_t at) {
  return {.claim_namespace = "ml",
          .name = "train",
          .uid = std::move(uid),
          .finished = at,
          .devices = {{"gpu-0", "GPU-0", State::kUnhealthy, Health::kUnhealthy, "Xid79: …"}}};
}

TEST_F(StateFile, HistoryReadsBackAndIsPrunedByAge) {
  History history;
  Remember(history, Finished("b", 2000));
  Remember(history, Finished("a", 1000));
  Remember(history, Finished("a", 9000));
  ASSERT_TRUE(StoreHistory(path_, history).has_value());
  auto loaded = LoadHistory(path_);
  EXPECT_FALSE(loaded.damage);
  ASSERT_EQ(loaded.value, history);
  EXPECT_EQ(loaded.value.claims[0], Finished("a", 1000)) << "the first end counts, and the oldest comes first";
  Prune(loaded.value, std::chrono::system_clock::time_point{seconds{2000} + hours{24}}, hours{24});
  ASSERT_THAT(loaded.value.claims, SizeIs(1));
  EXPECT_EQ(loaded.value.claims[0].uid, "b");
}

TEST_F(StateFile, HistoryIsBounded) {
  History history;
  for (std::size_t i = 0; i < kMaxHistory + 5; ++i) {
    Remember(history, Finished(Format("{}", i), static_cast<std::int64_t>(i)));
  }
  ASSERT_THAT(history.claims, SizeIs(kMaxHistory));
  EXPECT_EQ(history.claims.front().uid, "5");
}

TEST_F(StateFile, HistoryKeepsWhatWasSaidOfADevice) {
  DeviceHealth health;
  health.device = "gpu-0";
  health.uuid = "GPU-0";
  health.state = State::kUnhealthy;
  health.health = Health::kUnhealthy;
  health.message = "Xid79: …";
  EXPECT_EQ(ToPast(health), Finished("a", 0).devices[0]);
}

}  // namespace
}  // namespace tessera::health
