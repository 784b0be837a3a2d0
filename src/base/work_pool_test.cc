#include "base/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace tessera {
namespace {

TEST(WorkPool, RunsJobsSideBySideUpToItsBound) {
  std::latch both(2);
  std::atomic<int> done = 0;
  {
    WorkPool pool({.name = "test", .max_threads = 2});
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(pool.Submit([&] {
        both.arrive_and_wait();  // Ends only when both run at once.
        ++done;
      }));
    }
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.Submit([&] { ++done; }));
  }
  EXPECT_EQ(done, 102);
}

TEST(WorkPool, RefusesWhenTooMuchWaits) {
  std::latch release(1);
  WorkPool pool({.name = "test", .max_threads = 1, .max_waiting = 2});
  std::latch started(1);
  ASSERT_TRUE(pool.Submit([&] {
    started.count_down();
    release.wait();
  }));
  started.wait();
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_FALSE(pool.Submit([] {}));
  release.count_down();
}

TEST(WorkPool, ThreadsLeaveWhenIdleAndComeBack) {
  WorkPool pool({.name = "test", .max_threads = 4, .idle = std::chrono::milliseconds(1)});
  for (int round = 0; round < 50; ++round) {
    std::latch ran(4);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(pool.Submit([&] { ran.count_down(); }));
    ran.wait();
  }
}

}  // namespace
}  // namespace tessera
