#include "journal/leases.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/fd.h"
#include "journal/turns.h"

namespace tessera::journal {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

steady_clock::time_point Soon() { return steady_clock::now() + 20ms; }
steady_clock::time_point Later() { return steady_clock::now() + 60s; }

class LeasesTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return dir_.path() / "leases"; }

  // Runs `body` in a process of its own. It ends when `body` does, with its result as exit status.
  template <class Body>
  static pid_t Fork(Body body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    return child;
  }
  static int Wait(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  TempDir dir_ = *TempDir::Create("leases");
};

// Lines in the order of events, between two processes.
class Pipe {
 public:
  Pipe() {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    read_.Reset(ends[0]);
    write_.Reset(ends[1]);
  }
  void Tell() const { ASSERT_EQ(::write(write_.get(), "x", 1), 1); }
  void Await() const {
    char c = 0;
    ASSERT_EQ(::read(read_.get(), &c, 1), 1);
  }

 private:
  UniqueFd read_, write_;
};

TEST_F(LeasesTest, ThreadsOfOneProcessExcludeEachOther) {
  Leases leases(file());
  int counter = 0;  // Not atomic: the lease is what guards it.
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          const auto lease = leases.Acquire({"claim/a"}, Later());
          ASSERT_TRUE(lease.has_value());
          ++counter;
        }
      });
    }
  }
  EXPECT_EQ(counter, 200);
}

TEST_F(LeasesTest, TwoObjectsOnOneFileExcludeEachOther) {
  Leases one(file());
  Leases other(file());
  auto lease = one.Acquire({"gpu/0"}, Soon());
  ASSERT_TRUE(lease.has_value());
  EXPECT_TRUE(other.IsHeld("gpu/0").value());
  EXPECT_FALSE(other.TryAcquire("gpu/0").value().has_value());
  EXPECT_TRUE(other.TryAcquire("gpu/1").value().has_value());
}

TEST_F(LeasesTest, GivesUpAtTheDeadlineAndNamesTheLease) {
  Leases leases(file());
  Leases other(file());
  const auto lease = leases.Acquire({"gpu/GPU-1"}, Later());
  for (Leases* waiting : {&leases, &other}) {
    const auto refused = waiting->Acquire({"claim/b", "gpu/GPU-1"}, Soon());
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code(), "LeaseTimeout");
    EXPECT_EQ(refused.error().kind(), ErrorKind::kTransient);
    EXPECT_NE(refused.error().message().find("gpu/GPU-1"), std::string::npos);
    EXPECT_FALSE(other.IsHeld("claim/b").value()) << "what was taken before is given back";
  }
}

TEST(TurnsTest, AreInOrderOfArrival) {
  Turns turns;
  ASSERT_TRUE(turns.Enter(7, Later()));
  std::vector<std::size_t> order;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      ASSERT_TRUE(turns.Enter(7, Later()));
      order.push_back(i);
      turns.Leave(7);
    });
    while (turns.Count(7) < i + 2) std::this_thread::yield();
  }
  EXPECT_FALSE(turns.Enter(7, {})) << "nobody overtakes";
  turns.Leave(7);
  threads.clear();
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(turns.Count(7), 0U);
}

TEST_F(LeasesTest, SameAndCollidingNamesInOneCallDoNotBlock) {
  Leases leases(file());
  EXPECT_TRUE(leases.Acquire({"a", "b", "a"}, Soon()).has_value());
  EXPECT_TRUE(leases.Acquire({}, Soon()).has_value());
}

TEST_F(LeasesTest, NobodyWaitsInACircle) {
  Leases one(file());
  Leases other(file());
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Leases& leases = t % 2 == 0 ? one : other;
      for (int i = 0; i < 25; ++i) {
        auto names = t < 2 ? std::vector<std::string>{"a", "b", "c"} : std::vector<std::string>{"c", "a", "b"};
        ASSERT_TRUE(leases.Acquire(std::move(names), Later()).has_value());
      }
    });
  }
}

TEST_F(LeasesTest, ProcessesExcludeEachOther) {
  std::vector<pid_t> children;
  const auto counter = dir_.path() / "counter";
  ASSERT_TRUE(ReplaceFile(counter, "0").has_value());
  constexpr int kRounds = 40;
  for (int c = 0; c < 3; ++c) {
    children.push_back(Fork([&] {
      Leases leases(file());
      for (int i = 0; i < kRounds; ++i) {
        const auto lease = leases.Acquire({"claim/a", "gpu/0"}, Later());
        const auto before = ReadFile(counter);
        if (!lease.has_value() || !before.has_value()) return 1;
        if (!ReplaceFile(counter, std::to_string(std::stoi(*before) + 1)).has_value()) return 2;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
  EXPECT_EQ(ReadFile(counter).value(), std::to_string(3 * kRounds));
}

TEST_F(LeasesTest, TheKernelReleasesWhatAKilledHolderHad) {
  Pipe pipe;
  const pid_t child = Fork([&] {
    Leases leases(file());
    const auto lease = leases.Acquire({"gpu/0"}, Later());
    pipe.Tell();
    for (;;) ::pause();
    return 0;
  });
  pipe.Await();
  Leases leases(file());
  EXPECT_TRUE(leases.IsHeld("gpu/0").value());
  EXPECT_FALSE(leases.TryAcquire("gpu/0").value().has_value());
  ::kill(child, SIGKILL);
  EXPECT_EQ(Wait(child), 128 + SIGKILL);
  EXPECT_TRUE(leases.Acquire({"gpu/0"}, Later()).has_value());
}

TEST_F(LeasesTest, LeaseOutlivesItsLeasesAndMoves) {
  std::optional<Lease> kept;
  {
    Leases leases(file());
    kept = std::move(leases.Acquire({"a"}, Soon()).value());
  }
  Leases leases(file());
  EXPECT_TRUE(leases.IsHeld("a").value());
  kept.reset();
  EXPECT_FALSE(leases.IsHeld("a").value());
}

TEST_F(LeasesTest, NothingIsHeldWhileThereIsNoFile) {
  Leases leases(file());
  EXPECT_FALSE(leases.IsHeld("a").value());
  EXPECT_FALSE(std::filesystem::exists(file())) << "asking makes no file";
}

TEST_F(LeasesTest, ARemovedFileIsMadeAgainAndALinkIsNotFollowed) {
  Leases leases(file());
  ASSERT_TRUE(leases.Acquire({"a"}, Soon()).has_value());
  std::filesystem::remove(file());
  EXPECT_TRUE(leases.Acquire({"a"}, Soon()).has_value());
  EXPECT_TRUE(std::filesystem::exists(file()));

  std::filesystem::remove(file());
  std::filesystem::create_symlink(dir_.path() / "elsewhere", file());
  const auto refused = leases.Acquire({"a"}, Soon());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), "LeaseFileUnusable");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "elsewhere"));
}

}  // namespace
}  // namespace tessera::journal
