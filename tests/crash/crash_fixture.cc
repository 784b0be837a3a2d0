#include "tests/crash/crash_fixture.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "base/text.h"
#include "journal/checkpoint.h"

namespace tessera::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;

const std::vector<std::string> kAllGpus{"gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5", "gpu-6", "gpu-7"};

std::vector<std::string> DevicesOf(const Kubelet::Answer& answer, const Kubelet::Claim& claim) {
  std::vector<std::string> devices;
  const auto found = answer.claims.find(claim.uid);
  if (found == answer.claims.end()) return devices;
  for (const Kubelet::Device& device : found->second.devices) devices.push_back(device.name);
  return devices;
}

}  // namespace

CrashFixture::CrashFixture() : everything_(crash_.node().MakeClaim("everything", kAllGpus)) {}

Subject& CrashFixture::Add(const std::string& name, const std::vector<std::string>& devices, Told at_start) {
  return subjects_.emplace_back(Subject{.claim = node().MakeClaim(name, devices),
                                        .devices = devices,
                                        .thief = node().MakeClaim("thief-of-" + name, {devices.back()}),
                                        .at_start = at_start,
                                        .told = at_start});
}

void CrashFixture::Prepare(Subject& subject) {
  subject.told = Told::kPreparing;
  if (node().Prepare(subject.claim).ok()) subject.told = Told::kPrepared;
}

void CrashFixture::Unprepare(Subject& subject) {
  subject.told = Told::kUnpreparing;
  if (node().Unprepare(subject.claim).ok()) subject.told = Told::kUnprepared;
}

void CrashFixture::Stop(Plugin& plugin) {
  if (!plugin.WaitFor(std::chrono::milliseconds(0))) plugin.Signal(SIGTERM);
  plugin.Wait();
}

void CrashFixture::BeginRound() {
  for (Subject& subject : subjects_) subject.told = subject.at_start;
}

void CrashFixture::JudgeAfterRestart() {
  crash_.AwaitDisconnect();
  const auto plugin = node().Start(kUnlimited);
  ASSERT_TRUE(node().WaitRegistered()) << plugin->Log();
  ASSERT_TRUE(node().WaitPublished(kAllGpus.size())) << plugin->Log();
  ExpectRecordsAsTold();
  ExpectServedAsTold();
  EXPECT_THAT(node().CdiFiles(), ElementsAre("k8s.gpu.nvidia.com-base.yaml"));
  Stop(*plugin);
  EXPECT_EQ(plugin->Wait(), 0);
  ExpectNothingLeft();
  if (HasFailure()) std::cout << "the plugin that came after it said:\n" << plugin->Log();
}

void CrashFixture::ExpectRecordsAsTold() {
  const auto recorded = crash_.Recorded();
  for (const Subject& subject : subjects_) {
    SCOPED_TRACE(subject.claim.name);
    if (subject.told == Told::kPreparing || subject.told == Told::kUnpreparing) continue;
    EXPECT_EQ(recorded.contains(subject.claim.uid), subject.told == Told::kPrepared);
  }
}

void CrashFixture::ExpectServedAsTold() {
  for (Subject& subject : subjects_) {
    SCOPED_TRACE(subject.claim.name);
    switch (subject.told) {
      case Told::kPrepared:
      case Told::kPreparing:
        ExpectHeld(subject);
        EXPECT_EQ(node().Unprepare(subject.claim).error, "");
        break;
      case Told::kUnpreparing:  // The kubelet repeats it until it succeeds.
        EXPECT_EQ(node().Unprepare(subject.claim).error, "");
        break;
      case Told::kNothing:
      case Told::kUnprepared:
        break;
    }
    ExpectFree(subject);
  }
  const auto answer = node().Prepare(everything_);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(DevicesOf(answer, everything_), kAllGpus);
  EXPECT_EQ(node().Unprepare(everything_).error, "");
}

void CrashFixture::ExpectHeld(Subject& subject) {
  if (subject.told == Told::kPrepared) {
    const auto fault = node().api().faults().Add(
        {.method = "GET", .path = "/resourceclaims/" + subject.claim.name, .times = -1, .status = 403});
    ExpectRefused(subject.thief);
    node().api().faults().Remove(fault);
  }
  const auto answer = node().Prepare(subject.claim);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(DevicesOf(answer, subject.claim), subject.devices);
  ExpectRefused(subject.thief);
}

void CrashFixture::ExpectFree(const Subject& subject) {
  EXPECT_EQ(node().Prepare(subject.thief).error, "");
  EXPECT_EQ(node().Unprepare(subject.thief).error, "");
}

void CrashFixture::ExpectRefused(const Kubelet::Claim& thief) {
  EXPECT_THAT(node().Prepare(thief).error, HasSubstr("is prepared"));
}

void CrashFixture::ExpectNothingLeft() {
  // A file of health that is being written has one name, which the next one to write it takes over.
  const std::vector<std::string> ours{"checkpoint.json",
                                      "checkpoint.tessera",
                                      "cp.lock",
                                      "health.json",
                                      "health.json.tmp",
                                      "health-history.json",
                                      "journal",
                                      "journal.lock",
                                      "health-history.json.tmp",
                                      "leases",
                                      "pu.lock",
                                      "tessera-cdi-hook"};
  EXPECT_THAT(crash_.PluginFiles(), IsSubsetOf(ours));
  EXPECT_THAT(crash_.Recorded(), IsEmpty());
  const auto text = ReadFile(node().plugin_dir() / "checkpoint.json");
  ASSERT_TRUE(text.has_value()) << text.error().Text();
  const auto checkpoint = journal::ReadCheckpoint(*text);
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().Text();
  EXPECT_TRUE(checkpoint->checksum_matches);
  EXPECT_THAT(checkpoint->claims, IsEmpty());
}

}  // namespace tessera::tests
