#include "driver/health_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/fd.h"
#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class HealthFilesTest : public ::testing::Test {
 protected:
  void SetPolicy(std::string_view text) { ASSERT_TRUE(ReplaceFile(dir_.path() / "policy.yaml", text).has_value()); }
  void SetVerdict(std::string_view name, std::string_view text) {
    ASSERT_TRUE(ReplaceFile(dir_.path() / name, text).has_value());
  }
  // What people were told so far.
  std::string Told() { return Join(sink_.texts(), "\n"); }
  void AwaitTold(const std::string& words) {
    while (!Told().contains(words)) std::this_thread::yield();
  }

  const TempDir dir_ = TempDir::Create("health").value();
  FakeEvents sink_;
  Metrics metrics_{"node-a", "test"};
  Events events_{{.node_name = "node-a"}, sink_, metrics_};
  Trouble trouble_{"node-a", events_};
  HealthFiles files_{{.policy = dir_.path() / "policy.yaml", .verdicts = dir_.path(), .ignored_xids = "94"}, trouble_};
};

TEST_F(HealthFilesTest, ThePolicyIsHandedOutOnceAndAgainWhenItChanges) {
  SetPolicy("version: 1\nlease: 1m\n");
  const auto first = files_.NewPolicy();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(files_.Lease(*first), seconds(60));
  EXPECT_EQ(first->XidRule(94, "").severity, health::Severity::kNone) << "the flag's";
  EXPECT_FALSE(files_.NewPolicy().has_value());
  SetPolicy("version: 1\nlease: 2m\n");
  const auto second = files_.NewPolicy();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(files_.Lease(*second), seconds(120));
}

TEST_F(HealthFilesTest, ABadPolicyIsToldAndTheLastGoodOneStays) {
  SetPolicy("version: 1\nlease: 1m\n");
  ASSERT_TRUE(files_.NewPolicy().has_value());
  SetPolicy("version: 1\nlease: soon\n");
  EXPECT_FALSE(files_.NewPolicy().has_value());
  AwaitTold("HealthPolicyInvalid");
  std::filesystem::remove(dir_.path() / "policy.yaml");
  EXPECT_FALSE(files_.NewPolicy().has_value());
}

TEST_F(HealthFilesTest, WithoutAGoodPolicyTheDefaultsHold) {
  SetPolicy("lease: 1m\n");
  const auto policy = files_.NewPolicy();
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(files_.Lease(*policy), health::Policy().lease());
}

TEST_F(HealthFilesTest, AllBadVerdictsAreNamedAndTheOthersCount) {
  SetVerdict("a.json", "[");
  SetVerdict("b.json", "[");
  SetVerdict("good.json", R"({"device": "gpu-0", "state": "lost", "reason": "x"})");
  EXPECT_THAT(files_.Verdicts(), SizeIs(1));
  AwaitTold("VerdictInvalid");
  EXPECT_THAT(Told(), HasSubstr("a.json"));
  EXPECT_THAT(Told(), HasSubstr("b.json"));
}

}  // namespace
}  // namespace tessera::driver
