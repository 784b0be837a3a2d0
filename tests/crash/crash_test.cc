// The plugin is killed at every durable step of prepare, unprepare and compaction: nothing is leaked, doubled or lost.
#include <gtest/gtest.h>

#include "base/text.h"
#include "journal/journal.h"
#include "tests/crash/crash_fixture.h"

namespace tessera::tests {
namespace {

// From an empty node on, with all that a first start makes.
TEST_P(CrashTest, PreparingOnANewNode) {
  Subject& claim = Add("a", {"gpu-0", "gpu-3"});
  DieAtEachStep(crash_, GetParam(),
                {.live =
                     [&](Plugin& doomed) {
                       if (crash_.WaitRegistered(doomed)) Prepare(claim);
                       Stop(doomed);
                     },
                 .judge = [&] { JudgeAfterRestart(); },
                 .before = [&] { BeginRound(); }});
}

TEST_P(CrashTest, Unpreparing) {
  Subject& claim = Add("a", {"gpu-0", "gpu-3"}, Told::kPrepared);
  Subject& other = Add("other", {"gpu-5"}, Told::kPrepared);
  const auto plugin = node().StartReady();
  Prepare(claim);
  Prepare(other);
  Stop(*plugin);
  crash_.Keep();
  DieAtEachStep(crash_, GetParam(),
                {.live =
                     [&](Plugin& doomed) {
                       if (crash_.WaitRegistered(doomed)) Unprepare(claim);
                       Stop(doomed);
                     },
                 .judge = [&] { JudgeAfterRestart(); },
                 .before = [&] { BeginRound(); }});
}

// Adds records of claims that came and went until the next "forget" compacts.
void FillJournal(const std::filesystem::path& directory) {
  const auto journal = journal::Journal::Open({.directory = directory, .compact_from = std::uint64_t{1} << 30});
  api::PreparedClaim claim = *journal->All().at(0);
  for (int i = 0; journal->stats().bytes <= journal::Options().compact_from; ++i) {
    claim.claim = {"default", Format("gone-{}", i), Format("00000000-0000-4000-8000-{:012}", i)};
    ASSERT_TRUE(journal->Start(claim).has_value());
    ASSERT_TRUE(journal->Forget(claim.claim.uid).has_value());
  }
}

TEST_P(CrashTest, Compacting) {
  Subject& kept = Add("kept", {"gpu-7"}, Told::kPrepared);
  Subject& claim = Add("a", {"gpu-0", "gpu-3"});
  auto plugin = node().StartReady();
  Prepare(kept);
  Stop(*plugin);
  FillJournal(node().plugin_dir());
  crash_.Keep();
  const auto size = [&] { return std::filesystem::file_size(node().plugin_dir() / "journal"); };
  ASSERT_GT(size(), journal::Options().compact_from);
  DieAtEachStep(crash_, GetParam(),
                {.live =
                     [&](Plugin& doomed) {
                       if (!crash_.WaitRegistered(doomed)) return;
                       Prepare(claim);
                       Unprepare(claim);
                       if (claim.told == Told::kUnprepared) {
                         EXPECT_LT(size(), journal::Options().compact_from);
                       }
                       Stop(doomed);
                     },
                 .judge = [&] { JudgeAfterRestart(); },
                 .before = [&] { BeginRound(); }});
}

TESSERA_FOR_EACH_DEATH(CrashTest);

}  // namespace
}  // namespace tessera::tests
