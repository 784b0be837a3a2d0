// One of two instances is killed at every durable step while the other serves.
#include <gtest/gtest.h>

#include "tests/crash/crash_fixture.h"

namespace tessera::tests {
namespace {

const std::string kOld = "11111111-0000-0000-0000-000000000001";
const std::string kYoung = "22222222-0000-0000-0000-000000000002";

class HandoverCrashTest : public CrashTest {
 protected:
  HandoverCrashTest() {
    const auto plugin = node().StartReady();
    Prepare(ends_);
    Stop(*plugin);
    crash_.Keep();
  }

  void StartOther(const std::string& uid) {
    std::vector<std::string> arguments = kUnlimited;
    arguments.push_back("--pod-uid=" + uid);
    other_ = node().Start(std::move(arguments));
    ASSERT_TRUE(crash_.WaitRegistered(*other_, uid + ".sock")) << other_->Log();
  }

  // The one that is left serves, publishes, and knows what the dead one promised. So does one that comes later.
  void JudgeOther(const std::string& dead) {
    ASSERT_TRUE(Eventually([&] { return !IsConnected(dead); }));
    ExpectRecordsAsTold();
    ExpectServedAsTold();
    ASSERT_TRUE(node().api().DeleteCollection(kSlicesPath, "spec.nodeName=" + kNodeName).has_value());
    EXPECT_TRUE(node().WaitPublished(8));
    if (HasFailure()) std::cout << "the other plugin said:\n" << other_->Log();
    Stop(*other_);
    EXPECT_EQ(other_->Wait(), 0);
    for (Subject& subject : subjects_) subject.told = Told::kUnprepared;
    JudgeAfterRestart();
  }

  bool IsConnected(const std::string& uid) {
    for (const Kubelet::Instance& instance : node().kubelet().Instances(kDriver)) {
      if (instance.connected && instance.endpoint.contains(uid)) return true;
    }
    return false;
  }

  Subject& ends_ = Add("ends", {"gpu-0"}, Told::kPrepared);
  Subject& begins_ = Add("begins", {"gpu-5", "gpu-6"});
  Subject& later_ = Add("later", {"gpu-7"});
  std::unique_ptr<Plugin> other_;
};

TEST_P(HandoverCrashTest, TheYoungOneDies) {
  DieAtEachStep(crash_, GetParam(),
                {.arguments = {"--pod-uid=" + kYoung},
                 .live =
                     [&](Plugin& doomed) {
                       if (crash_.WaitRegistered(doomed, kYoung + ".sock")) {
                         Prepare(begins_);
                         Unprepare(ends_);
                       }
                       Stop(doomed);
                     },
                 .judge = [&] { JudgeOther(kYoung); },
                 .skip = [&] { other_.reset(); },
                 .before =
                     [&] {
                       BeginRound();
                       StartOther(kOld);
                       ASSERT_TRUE(node().WaitPublished(8));
                     }});
}

// The one that publishes. Its start alone is CrashTest's.
TEST_P(HandoverCrashTest, TheOldOneDies) {
  DieAtEachStep(crash_, GetParam(),
                {.arguments = {"--pod-uid=" + kOld},
                 .live =
                     [&](Plugin& doomed) {
                       if (crash_.WaitRegistered(doomed, kOld + ".sock")) Unprepare(ends_);
                       StartOther(kYoung);
                       Prepare(begins_);
                       Stop(doomed);
                       Prepare(later_);
                     },
                 .judge = [&] { JudgeOther(kOld); },
                 .skip = [&] { other_.reset(); },
                 .before = [&] { BeginRound(); }});
}

TESSERA_FOR_EACH_DEATH(HandoverCrashTest);

}  // namespace
}  // namespace tessera::tests
