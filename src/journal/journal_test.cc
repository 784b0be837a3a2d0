#include "journal/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "base/fd.h"
#include "base/text.h"
#include "journal/line.h"

namespace tessera::journal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Uid(int n) { return Format("0f1e2d3c-0000-4000-8000-{:012}", n); }

api::PreparedClaim Claim(int n, std::string gpu = "GPU-a") {
  api::PreparedClaim claim;
  claim.claim = {"default", Format("claim-{}", n), Uid(n)};
  claim.boot_id = "b00t";
  claim.pods = {Format("default/pod-{}", n)};
  claim.allocation = json::Object{{"devices", json::Object{{"results", json::Array{}}}}};
  api::PreparedDevice device;
  device.requests = {"gpu"};
  device.pool = "node";
  device.name = "gpu-0";
  device.hardware.gpu_uuid = std::move(gpu);
  claim.devices.push_back(std::move(device));
  return claim;
}

class JournalTest : public testing::Test {
 protected:
  std::filesystem::path dir() const { return dir_.path() / "plugin"; }
  std::filesystem::path file() const { return dir() / "journal"; }
  Options options() const { return {.directory = dir()}; }
  std::unique_ptr<Journal> Open() const { return Journal::Open(options()); }
  std::string Text() const { return ReadFile(file(), std::size_t{128} << 20).value(); }
  void SetText(std::string_view text) const {
    std::filesystem::create_directories(dir());
    ASSERT_TRUE(ReplaceFile(file(), text, 0600).has_value());
  }
  static std::vector<std::string> Uids(const Journal& journal) {
    std::vector<std::string> uids;
    for (const auto& claim : journal.All()) uids.push_back(claim->claim.uid);
    return uids;
  }
  // For tests of thousands of files: syncs cost nothing there.
  void WorkInMemory() {
    if (!std::filesystem::is_directory("/dev/shm")) return;
    ::setenv("TMPDIR", "/dev/shm", 1);
    dir_ = *TempDir::Create("journal");
  }
  std::size_t Quarantines() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir())) {
      if (entry.path().filename().string().starts_with("journal.quarantine-")) ++count;
    }
    return count;
  }

  TempDir dir_ = *TempDir::Create("journal");
};

std::string LineOf(int n) { return StartLine(Claim(n)).value().text; }

TEST_F(JournalTest, WhatWasWrittenIsThereAfterReopening) {
  {
    const auto journal = Open();
    ASSERT_TRUE(journal->Start(Claim(1)).has_value());
    ASSERT_TRUE(journal->Start(Claim(2, "GPU-b")).has_value());
    ASSERT_TRUE(journal->Start(Claim(3)).has_value());
    ASSERT_TRUE(journal->Complete(Uid(2)).has_value());
    ASSERT_TRUE(journal->Forget(Uid(3)).has_value());
  }
  const auto journal = Open();
  EXPECT_THAT(Uids(*journal), ElementsAre(Uid(1), Uid(2)));
  EXPECT_EQ(*journal->Find(Uid(1)), Claim(1));
  EXPECT_EQ(journal->Find(Uid(2))->state, api::ClaimState::kCompleted);
  EXPECT_EQ(journal->Find(Uid(3)), nullptr);
  EXPECT_EQ(journal->TakeRecovery(), std::nullopt);
  EXPECT_EQ(std::filesystem::status(file()).permissions(), std::filesystem::perms(0600));
}

TEST_F(JournalTest, ALineIsWhatTheHeaderSays) {
  ASSERT_TRUE(Open()->Start(Claim(1)).has_value());
  EXPECT_EQ(Text(), R"({"crc":"730baefc","v":1,"op":"start","claim":{"namespace":"default","name":"claim-1",)"
                    R"("uid":"0f1e2d3c-0000-4000-8000-000000000001"},"state":"started","bootID":"b00t",)"
                    R"("pods":["default/pod-1"],"devices":[{"requests":["gpu"],"pool":"node","name":"gpu-0",)"
                    R"("adminAccess":false,"hardware":{"gpuUUID":"GPU-a"}}],"allocation":{"devices":{"results":[]}}})"
                    "\n");
}

TEST_F(JournalTest, HoldersFollowTheClaims) {
  const auto journal = Open();
  auto both = Claim(1, "GPU-a");
  both.devices.push_back(Claim(1, "GPU-b").devices[0]);
  ASSERT_TRUE(journal->Start(both).has_value());
  ASSERT_TRUE(journal->Start(Claim(2, "GPU-b")).has_value());
  EXPECT_EQ(journal->HoldersOf("GPU-a").size(), 1U);
  EXPECT_EQ(journal->HoldersOf("GPU-b").size(), 2U);
  ASSERT_TRUE(journal->Start(Claim(1, "GPU-c")).has_value()) << "replaces the record whole";
  EXPECT_THAT(journal->HoldersOf("GPU-a"), IsEmpty());
  EXPECT_EQ(journal->HoldersOf("GPU-b").size(), 1U);
  EXPECT_EQ(journal->HoldersOf("GPU-c").size(), 1U);
}

TEST_F(JournalTest, AClaimMayStartCompleted) {
  auto adopted = Claim(1);
  adopted.state = api::ClaimState::kCompleted;
  adopted.origin = "go";
  adopted.adopted = json::Object{{"checkpointState", "PrepareCompleted"}};
  ASSERT_TRUE(Open()->Start(adopted).has_value());
  EXPECT_EQ(*Open()->Find(Uid(1)), adopted);
}

TEST_F(JournalTest, RepeatedStepsSucceed) {
  const auto journal = Open();
  EXPECT_TRUE(journal->Forget(Uid(1)).has_value()) << "was never here";
  EXPECT_EQ(journal->Complete(Uid(1)).error().code(), "ClaimNotStarted");
  ASSERT_TRUE(journal->Start(Claim(1)).has_value());
  ASSERT_TRUE(journal->Complete(Uid(1)).has_value());
  const auto before = journal->stats().bytes;
  EXPECT_TRUE(journal->Complete(Uid(1)).has_value());
  EXPECT_EQ(journal->stats().bytes, before);
  EXPECT_TRUE(journal->Forget(Uid(1)).has_value());
  EXPECT_TRUE(journal->Forget(Uid(1)).has_value());
  ASSERT_TRUE(journal->Start(Claim(1)).has_value()) << "and again";
  EXPECT_EQ(Open()->All().size(), 1U);
}

TEST_F(JournalTest, RefusesWhatItCouldNotReadBack) {
  const auto journal = Open();
  auto bad_uid = Claim(1);
  bad_uid.claim.uid = "../../etc";
  auto bad_text = Claim(1);
  bad_text.claim.name = "\xFF";
  auto long_one = Claim(1);
  long_one.boot_id.assign(kMaxLine, 'x');
  for (const auto& claim : {bad_uid, bad_text, long_one}) {
    const auto refused = journal->Start(claim);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), "ClaimUnwritable");
  }
  EXPECT_THAT(journal->All(), IsEmpty());
}

// ---- Damage.

TEST_F(JournalTest, ATornTailIsCutAtEveryLength) {
  WorkInMemory();
  const std::string whole = LineOf(1);
  const std::string last = LineOf(2);
  for (std::size_t length = 1; length < last.size(); ++length) {
    SCOPED_TRACE(length);
    SetText(whole + last.substr(0, length));
    const auto journal = Open();
    const bool lacks_only_newline = length == last.size() - 1;
    EXPECT_EQ(journal->All().size(), lacks_only_newline ? 2U : 1U);
    const auto recovery = journal->TakeRecovery();
    EXPECT_EQ(recovery.has_value(), !lacks_only_newline);
    if (recovery) {
      EXPECT_EQ(*recovery, (Recovery{length, 0, {}, {}}));
    }
    EXPECT_EQ(Text(), lacks_only_newline ? whole + last : whole);
    ASSERT_TRUE(journal->Start(Claim(3)).has_value());
    EXPECT_EQ(Open()->TakeRecovery(), std::nullopt) << "mended for good";
  }
}

TEST_F(JournalTest, DamageInTheMiddleCostsOnlyItsLine) {
  const std::string second = LineOf(2);
  struct Case {
    std::string_view name;
    std::string line;
    bool is_suspected;
  };
  std::string flipped = second;
  flipped[flipped.size() - 40] ^= 4;
  const std::vector<Case> cases = {
      {"a flipped bit", flipped, true},
      {"garbage", "garbage\n", false},
      {"an empty line", "\n", false},
      {"zeros", std::string(5000, '\0') + "\n", false},
      {"cut in its beginning", second.substr(30), true},
      {"too long", std::string(kMaxLine + 5, 'x') + "\n", false},
      {"a checksum over no JSON", "{\"crc\":\"00000000\",\n", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    SetText(LineOf(1) + c.line + LineOf(3));
    const auto journal = Open();
    EXPECT_THAT(Uids(*journal), ElementsAre(Uid(1), Uid(3)));
    const auto recovery = journal->TakeRecovery();
    ASSERT_TRUE(recovery.has_value());
    EXPECT_EQ(recovery->damaged_lines, 1U);
    if (!c.is_suspected) {
      EXPECT_THAT(recovery->suspects, IsEmpty());
    } else {
      EXPECT_THAT(recovery->suspects, ElementsAre(testing::Field(&api::ClaimRef::uid, Uid(2))));
    }
    EXPECT_NE(ReadFile(recovery->quarantine).value().find(c.line.substr(0, kMaxLine)), std::string::npos);
    EXPECT_EQ(Text(), LineOf(1) + LineOf(3));
    EXPECT_EQ(journal->TakeRecovery(), std::nullopt) << "nothing is reported twice";
    EXPECT_EQ(Open()->TakeRecovery(), std::nullopt);
    EXPECT_EQ(journal->stats().recoveries, 1U);
  }
}

TEST_F(JournalTest, AClaimWhoseStartIsLostIsSuspectedThroughItsOtherLines) {
  SetText("garbage\n" + CompleteLine(Claim(2).claim).text + "rubbish\n" + ForgetLine(Claim(4).claim).text);
  const auto recovery = Open()->TakeRecovery();
  ASSERT_TRUE(recovery.has_value());
  EXPECT_THAT(recovery->suspects, ElementsAre(Claim(2).claim));
}

TEST_F(JournalTest, ALostNewlineCostsNothing) {
  for (const std::string_view between : {"", "x"}) {
    const std::string first = LineOf(1);
    SetText(first.substr(0, first.size() - 1) + std::string(between) + LineOf(2));
    const auto journal = Open();
    EXPECT_THAT(Uids(*journal), ElementsAre(Uid(1), Uid(2)));
    EXPECT_EQ(Text(), LineOf(1) + LineOf(2));
  }
}

TEST_F(JournalTest, RandomDamageNeverCostsAnUndamagedLine) {
  WorkInMemory();
  constexpr int kSeeds = 3000;
  std::vector<std::string> lines;
  for (int n = 0; n < 6; ++n) lines.push_back(LineOf(n));
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto below = [&](std::size_t limit) {
      return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    std::string text;
    std::set<std::string> undamaged;
    for (int n = 0; n < 6; ++n) {
      std::string line = lines[static_cast<std::size_t>(n)];
      const std::size_t body = line.size() - 1;  // The newline stays: what precedes the next line is not its damage.
      switch (below(6)) {
        case 0:
          line[below(body)] ^= static_cast<char>(1U << below(7));
          break;
        case 1:
          line.erase(below(body), 1 + below(20));
          break;
        case 2:
          line.insert(below(body), std::string(1 + below(50), static_cast<char>(below(256))));
          break;
        default:
          undamaged.insert(Uid(n));
      }
      if (line == lines[static_cast<std::size_t>(n)]) undamaged.insert(Uid(n));
      text += line;
    }
    if (below(4) == 0) text.resize(text.size() - below(lines[5].size())), undamaged.erase(Uid(5));
    SetText(text);
    const auto journal = Open();
    for (const auto& uid : undamaged) EXPECT_NE(journal->Find(uid), nullptr) << uid;
    for (const auto& claim : journal->All()) EXPECT_EQ(*claim, Claim(std::stoi(claim->claim.name.substr(6))));
    EXPECT_TRUE(journal->Start(Claim(9)).has_value());
    EXPECT_EQ(Open()->TakeRecovery(), std::nullopt);
    if (HasFailure()) break;
  }
  EXPECT_LE(Quarantines(), 8U);
}

TEST_F(JournalTest, OldQuarantinesAreRemoved) {
  std::filesystem::create_directories(dir());
  for (int year = 2001; year < 2020; ++year) {
    ASSERT_TRUE(ReplaceFile(dir() / Format("journal.quarantine-{}0101T000000Z", year), "old").has_value());
  }
  SetText("garbage\n");
  const auto recovery = Open()->TakeRecovery();
  EXPECT_EQ(Quarantines(), 8U);
  EXPECT_TRUE(std::filesystem::exists(recovery->quarantine));
  EXPECT_TRUE(std::filesystem::exists(dir() / "journal.quarantine-20190101T000000Z"));
}

TEST_F(JournalTest, AFileBeyondTheLimitIsServedAsFarAsItIsSane) {
  SetText(LineOf(1));
  std::filesystem::resize_file(file(), (std::uint64_t{64} << 20) + 4096);  // Sparse.
  const auto journal = Open();
  EXPECT_THAT(Uids(*journal), ElementsAre(Uid(1)));
  EXPECT_EQ(Text(), LineOf(1));
}

// ---- Newer versions.

TEST_F(JournalTest, FieldsOfNewerVersionsAreKept) {
  SetText(StartLine(Claim(1), {{"mps", json::Object{{"daemon", "x"}}}}).value().text);
  const auto journal = Open();
  ASSERT_TRUE(journal->Compact().has_value());
  EXPECT_NE(Text().find(R"("mps":{"daemon":"x"})"), std::string::npos);
  ASSERT_TRUE(journal->Start(Claim(1, "GPU-b")).has_value());
  ASSERT_TRUE(journal->Compact().has_value());
  EXPECT_NE(Text().find(R"("mps":{"daemon":"x"})"), std::string::npos) << "also when the record is replaced";
  EXPECT_EQ(journal->HoldersOf("GPU-b").size(), 1U);
}

TEST_F(JournalTest, LinesOfNewerVersionsAreKeptInTheirOrder) {
  // Made with another program's CRC-32C.
  const std::string step =
      R"({"crc":"d3a67925","v":1,"op":"step","claim":{"namespace":"","name":"","uid":"u-7"},"n":1})"
      "\n";
  const std::string newer = R"({"crc":"0070a1cc","v":2,"op":"start","shape":["new"]})"
                            "\n";
  ASSERT_TRUE(ParseLine(step.substr(0, step.size() - 1)).has_value());
  ASSERT_TRUE(ParseLine(newer.substr(0, newer.size() - 1)).has_value());
  SetText(step + LineOf(1) + newer + LineOf(2));
  const auto journal = Open();
  EXPECT_EQ(journal->TakeRecovery(), std::nullopt);
  ASSERT_TRUE(journal->Forget(Uid(1)).has_value());
  ASSERT_TRUE(journal->Compact().has_value());
  EXPECT_EQ(Text(), step + newer + LineOf(2));
  ASSERT_TRUE(journal->Forget("u-7").has_value()) << "ends what a newer version said of it";
  ASSERT_TRUE(journal->Compact().has_value());
  EXPECT_EQ(Text(), newer + LineOf(2));
}

// ---- Compaction and other writers.

TEST_F(JournalTest, CompactsByItselfWhenMostIsGarbage) {
  Options small = options();
  small.compact_from = 4096;
  const auto journal = Journal::Open(small);
  ASSERT_TRUE(journal->Start(Claim(0)).has_value());
  std::uint64_t largest = 0;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(journal->Start(Claim(1)).has_value());
    ASSERT_TRUE(journal->Complete(Uid(1)).has_value());
    ASSERT_TRUE(journal->Forget(Uid(1)).has_value());
    largest = std::max(largest, journal->stats().bytes);
  }
  EXPECT_LT(largest, 8192U);
  const Stats stats = journal->stats();
  EXPECT_GT(stats.compactions, 5U);
  EXPECT_LT(stats.compactions, 100U);
  EXPECT_EQ(stats.claims, 1U);
  EXPECT_EQ(std::filesystem::file_size(file()), stats.bytes);
  EXPECT_THAT(Uids(*Journal::Open(small)), ElementsAre(Uid(0)));
}

TEST_F(JournalTest, SeesWhatAnotherWroteAndCompacted) {
  const auto one = Open();
  const auto other = Open();
  ASSERT_TRUE(one->Start(Claim(1)).has_value());
  EXPECT_EQ(other->Find(Uid(1)), nullptr);
  ASSERT_TRUE(other->Refresh().has_value());
  EXPECT_NE(other->Find(Uid(1)), nullptr);
  ASSERT_TRUE(one->Complete(Uid(1)).has_value());
  ASSERT_TRUE(one->Compact().has_value());
  ASSERT_TRUE(other->Start(Claim(2)).has_value()) << "a write looks first, too";
  EXPECT_EQ(other->Find(Uid(1))->state, api::ClaimState::kCompleted);
  ASSERT_TRUE(other->Forget(Uid(1)).has_value());
  ASSERT_TRUE(one->Refresh().has_value());
  EXPECT_THAT(Uids(*one), ElementsAre(Uid(2)));
  EXPECT_EQ(one->TakeRecovery(), std::nullopt);
}

TEST_F(JournalTest, ARemovedFileIsWrittenAgain) {
  const auto journal = Open();
  ASSERT_TRUE(journal->Start(Claim(1)).has_value());
  std::filesystem::remove(file());
  ASSERT_TRUE(journal->Start(Claim(2)).has_value());
  EXPECT_EQ(Open()->All().size(), 2U);
}

TEST_F(JournalTest, ThreadsShareOneJournal) {
  Options small = options();
  small.compact_from = 4096;
  const auto journal = Journal::Open(small);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 40; ++i) {
          const int n = t * 1000 + i;
          ASSERT_TRUE(journal->Start(Claim(n)).has_value());
          ASSERT_TRUE(journal->Complete(Uid(n)).has_value());
          EXPECT_NE(journal->Find(Uid(n)), nullptr);
          if (i % 4 == 0) continue;
          ASSERT_TRUE(journal->Forget(Uid(n)).has_value());
          EXPECT_FALSE(journal->HoldersOf("GPU-a").empty()) << "others are still there";
        }
      });
    }
  }
  EXPECT_EQ(journal->All().size(), 40U);
  EXPECT_EQ(Uids(*Open()), Uids(*journal));
}

TEST_F(JournalTest, ProcessesShareOneFile) {
  constexpr int kProcesses = 3;
  constexpr int kRounds = 60;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      Options small = options();
      small.compact_from = 4096;
      const auto journal = Journal::Open(small);
      for (int i = 0; i < kRounds; ++i) {
        const int n = p * 1000 + i;
        if (!journal->Start(Claim(n)).has_value() || !journal->Complete(Uid(n)).has_value()) ::_exit(1);
        if (i % 3 != 0 && !journal->Forget(Uid(n)).has_value()) ::_exit(2);
      }
      ::_exit(journal->TakeRecovery().has_value() ? 3 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto journal = Open();
  EXPECT_EQ(journal->All().size(), static_cast<std::size_t>(kProcesses * kRounds / 3));
  for (const auto& claim : journal->All()) EXPECT_EQ(claim->state, api::ClaimState::kCompleted);
  EXPECT_EQ(journal->TakeRecovery(), std::nullopt);
}

TEST_F(JournalTest, AWriterKilledAnywhereLosesNothingItWasToldIsDurable) {
  for (int round = 0; round < 10; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    const UniqueFd read_end{pipe[0]};
    UniqueFd write_end{pipe[1]};
    const pid_t child = ::fork();
    if (child == 0) {
      Options small = options();
      small.compact_from = 2048;
      const auto journal = Journal::Open(small);
      for (int i = 0;; ++i) {
        if (!journal->Start(Claim(i % 50)).has_value()) ::_exit(1);
        if (::write(write_end.get(), &i, sizeof i) != sizeof i) ::_exit(2);
      }
    }
    write_end.Reset();
    int last = -1;
    while (last < round * 13) ASSERT_EQ(::read(read_end.get(), &last, sizeof last), static_cast<ssize_t>(sizeof last));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto journal = Open();
    for (int i = 0; i <= std::min(last, 49); ++i) EXPECT_NE(journal->Find(Uid(i)), nullptr) << i;
  }
}

// ---- A disk that does not take it.

TEST_F(JournalTest, WithoutADirectoryEachWriteFailsAndReadingGoesOn) {
  ASSERT_TRUE(ReplaceFile(dir(), "a file is in the way").has_value());
  const auto journal = Open();
  const auto refused = journal->Start(Claim(1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), "JournalUnwritable");
  EXPECT_FALSE(refused.error().advice().empty());
  EXPECT_THAT(journal->All(), IsEmpty());
  EXPECT_EQ(journal->stats().write_failures, 1U);
  std::filesystem::remove(dir());
  EXPECT_TRUE(journal->Start(Claim(1)).has_value()) << "heals by itself";
}

TEST_F(JournalTest, AForgetThatCannotBeWrittenIsRetried) {
  const auto journal = Open();
  ASSERT_TRUE(journal->Start(Claim(1)).has_value());
  ASSERT_TRUE(journal->Start(Claim(2)).has_value());
  std::filesystem::remove(dir() / "journal.lock");
  std::filesystem::create_directory(dir() / "journal.lock");  // Keeps even root from locking.

  EXPECT_FALSE(journal->Forget(Uid(1)).has_value());
  EXPECT_EQ(journal->Find(Uid(1)), nullptr);
  EXPECT_TRUE(journal->Forget(Uid(7)).has_value()) << "was not there";
  ASSERT_TRUE(journal->Refresh().has_value());
  EXPECT_EQ(journal->Find(Uid(1)), nullptr) << "reading again does not bring it back";
  EXPECT_NE(Open()->Find(Uid(1)), nullptr) << "a new process still has it";

  std::filesystem::remove(dir() / "journal.lock");
  ASSERT_TRUE(journal->Start(Claim(3)).has_value());
  EXPECT_THAT(Uids(*Open()), ElementsAre(Uid(2), Uid(3)));
}

TEST_F(JournalTest, AnotherProcessMayStartWhatWeCouldNotForget) {
  const auto journal = Open();
  ASSERT_TRUE(journal->Start(Claim(1)).has_value());
  std::filesystem::remove(dir() / "journal.lock");
  std::filesystem::create_directory(dir() / "journal.lock");
  EXPECT_FALSE(journal->Forget(Uid(1)).has_value());
  std::filesystem::remove(dir() / "journal.lock");
  ASSERT_TRUE(Open()->Start(Claim(1, "GPU-b")).has_value());
  ASSERT_TRUE(journal->Refresh().has_value());
  ASSERT_TRUE(journal->Start(Claim(2)).has_value());
  EXPECT_EQ(Open()->HoldersOf("GPU-b").size(), 1U);
}

TEST_F(JournalTest, DamageThatCannotBeMendedIsServedAroundAndReportedOnce) {
  SetText(LineOf(1) + "garbage\n" + LineOf(2));
  std::filesystem::create_directory(dir() / "journal.lock");
  const auto journal = Open();
  EXPECT_EQ(journal->All().size(), 2U);
  EXPECT_EQ(journal->TakeRecovery()->damaged_lines, 1U);
  std::filesystem::remove(dir() / "journal.lock");
  ASSERT_TRUE(journal->Start(Claim(3)).has_value());
  EXPECT_EQ(journal->TakeRecovery(), std::nullopt);
  EXPECT_EQ(Quarantines(), 1U);
  EXPECT_EQ(Text(), LineOf(1) + LineOf(2) + LineOf(3));
}

TEST_F(JournalTest, ALinkInItsPlaceIsNotFollowed) {
  std::filesystem::create_directories(dir());
  std::filesystem::create_symlink(dir_.path() / "elsewhere", file());
  const auto journal = Open();
  EXPECT_EQ(journal->Start(Claim(1)).error().code(), "JournalUnwritable");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "elsewhere"));
}

// In a child, because the limit is the process's. Beyond it a write is short, as on a full disk.
TEST_F(JournalTest, AShortWriteLeavesNoHalfLine) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const auto journal = Open();
    for (int i = 0; i < 10; ++i) {
      if (!journal->Start(Claim(i)).has_value()) ::_exit(1);
    }
    const rlimit limit{journal->stats().bytes + 100, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto refused = journal->Start(Claim(99));
    if (refused.has_value() || refused.error().code() != "DiskFull") ::_exit(2);
    if (std::filesystem::file_size(file()) != journal->stats().bytes || journal->Find(Uid(99))) ::_exit(3);
    if (journal->Forget(Uid(0)).has_value() || journal->Find(Uid(0))) ::_exit(4);
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &none);
    ::_exit(journal->Start(Claim(99)).has_value() ? 0 : 5);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  const auto journal = Open();
  EXPECT_EQ(journal->TakeRecovery(), std::nullopt);
  EXPECT_EQ(journal->All().size(), 10U);
  EXPECT_EQ(journal->Find(Uid(0)), nullptr);
}

TEST_F(JournalTest, AFullDiskStillTakesForgets) {
  std::filesystem::create_directories(dir());
  if (::mount("tmpfs", dir().c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "needs to mount a tmpfs";
  struct Unmount {
    std::filesystem::path path;
    ~Unmount() { ::umount2(path.c_str(), MNT_DETACH); }
  };
  const Unmount at_end{dir()};
  const auto journal = Open();
  ASSERT_TRUE(journal->Start(Claim(0)).has_value());
  {  // Somebody else fills the disk.
    const UniqueFd filler{::open((dir() / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    const std::string block(4096, 'x');
    while (::write(filler.get(), block.data(), block.size()) > 0) {
    }
  }
  int started = 1;
  Result<void> last;
  while ((last = journal->Start(Claim(started))).has_value()) ASSERT_LT(++started, 5000);
  EXPECT_EQ(last.error().code(), "DiskFull");
  EXPECT_EQ(last.error().kind(), ErrorKind::kTransient);
  for (int i = 0; i < started; ++i) {
    ASSERT_TRUE(journal->Complete(Uid(i)).has_value()) << i << " of " << started;
    ASSERT_TRUE(journal->Forget(Uid(i)).has_value()) << i << " of " << started;
  }
  std::filesystem::remove(dir() / "filler");
  EXPECT_TRUE(journal->Start(Claim(1)).has_value());
}

TEST(BootIdTest, IsTheKernelsWithoutItsNewline) {
  const TempDir procfs = *TempDir::Create("procfs");
  EXPECT_EQ(BootId(procfs.path()), "");
  std::filesystem::create_directories(procfs.path() / "sys/kernel/random");
  ASSERT_TRUE(ReplaceFile(procfs.path() / "sys/kernel/random/boot_id", "abc-1\n").has_value());
  EXPECT_EQ(BootId(procfs.path()), "abc-1");
}

}  // namespace
}  // namespace tessera::journal
