// The plugin is killed at every durable step of taking over from the Go driver.
#include <gtest/gtest.h>

#include "base/text.h"
#include "journal/checkpoint.h"
#include "tests/crash/crash_fixture.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;

class AdoptionCrashTest : public CrashTest {
 protected:
  // The Go driver's files for these claims, in place of ours. Its completed records have no names, and its CDI files no
  // records.
  void WriteAsGoDriver(std::initializer_list<const Subject*> subjects,
                       const std::map<std::string, std::string>& files) {
    std::vector<api::PreparedClaim> claims;
    for (const Subject* subject : subjects) {
      api::PreparedClaim& claim = claims.emplace_back(records_.at(subject->claim.uid));
      claim.claim.namespace_name.clear();
      claim.claim.name.clear();
      const std::string& text = files.at(subject->claim.uid);
      ASSERT_TRUE(text.starts_with("# tessera: "));
      ReplaceFile(node().claim_file(subject->claim), text.substr(text.find('\n') + 1)).value();
    }
    ReplaceFile(node().plugin_dir() / "checkpoint.json",
                journal::WriteCheckpoint(claims, "", journal::GoRelease::kHead))
        .value();
  }

  // Prepares them all, and keeps what is written about them.
  std::map<std::string, std::string> PrepareAll() {
    std::map<std::string, std::string> files;
    for (Subject& subject : subjects_) {
      if (subject.at_start == Told::kNothing) continue;
      Prepare(subject);
      EXPECT_EQ(subject.told, Told::kPrepared);
      files.emplace(subject.claim.uid, ReadFile(node().claim_file(subject.claim)).value());
    }
    records_ = crash_.Recorded();
    return files;
  }

  // The kubelet goes on at once: a claim ends, another one begins.
  void DieAfterAdopting(Subject& ends, Subject& begins) {
    DieAtEachStep(crash_, GetParam(),
                  {.live =
                       [&](Plugin& doomed) {
                         if (crash_.WaitRegistered(doomed)) {
                           Unprepare(ends);
                           Prepare(begins);
                         }
                         Stop(doomed);
                       },
                   .judge = [&] { JudgeAfterRestart(); },
                   .before = [&] { BeginRound(); }});
  }

  std::map<std::string, api::PreparedClaim> records_;
};

TEST_P(AdoptionCrashTest, TheFirstTime) {
  Subject& ends = Add("ends", {"gpu-0"}, Told::kPrepared);
  Subject& stays = Add("stays", {"gpu-1", "gpu-2"}, Told::kPrepared);
  Subject& begins = Add("begins", {"gpu-5"});
  auto plugin = node().StartReady();
  const auto files = PrepareAll();
  plugin.reset();
  fs::remove_all(node().plugin_dir());
  fs::create_directories(node().plugin_dir());
  WriteAsGoDriver({&ends, &stays}, files);
  crash_.Keep();
  DieAfterAdopting(ends, begins);
}

// We were here before, went back to the Go driver, and come again.
TEST_P(AdoptionCrashTest, ComingBack) {
  const Subject& ended = Add("ended", {"gpu-7"}, Told::kUnprepared);  // By the Go driver.
  Subject& ends = Add("ends", {"gpu-0"}, Told::kPrepared);
  Subject& stays = Add("stays", {"gpu-1", "gpu-2"}, Told::kPrepared);  // Prepared by the Go driver.
  Subject& begins = Add("begins", {"gpu-5"});
  const auto plugin = node().StartReady();
  const auto files = PrepareAll();
  Unprepare(stays);
  Stop(*plugin);
  fs::remove(node().claim_file(ended.claim));
  WriteAsGoDriver({&ends, &stays}, files);
  crash_.Keep();
  DieAfterAdopting(ends, begins);
}

TESSERA_FOR_EACH_DEATH(AdoptionCrashTest);

}  // namespace
}  // namespace tessera::tests
