#include "base/side_job.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

namespace tessera {
namespace {

TEST(SideJob, IsDoneByThePoolMeanwhile) {
  WorkPool pool({.name = "test"});
  std::latch begun(1);
  std::thread::id worker;
  SideJob job(pool, [&] {
    worker = std::this_thread::get_id();
    begun.count_down();
  });
  begun.wait();  // Without Finish().
  job.Finish();
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(SideJob, IsDoneHereWhenThePoolIsBusy) {
  WorkPool pool({.name = "test", .max_threads = 1});
  std::latch release(1);
  ASSERT_TRUE(pool.Submit([&] { release.wait(); }));
  std::thread::id worker;
  int times = 0;
  {
    SideJob job(pool, [&] {
      worker = std::this_thread::get_id();
      ++times;
    });
    job.Finish();
    EXPECT_EQ(worker, std::this_thread::get_id());
  }
  release.count_down();  // Now the pool comes to it, too late.
  std::latch later(1);
  ASSERT_TRUE(pool.Submit([&] { later.count_down(); }));
  later.wait();
  EXPECT_EQ(times, 1);
}

TEST(SideJob, IsDoneHereWhenThePoolTakesNoMore) {
  WorkPool pool({.name = "test", .max_waiting = 0});
  bool done = false;
  SideJob(pool, [&] { done = true; }).Finish();
  EXPECT_TRUE(done);
}

TEST(SideJob, IsAwaitedBeforeItGoes) {
  WorkPool pool({.name = "test"});
  for (int i = 0; i < 1000; ++i) {
    bool done = false;
    {
      const SideJob job(pool, [&] { done = true; });
    }
    ASSERT_TRUE(done);
  }
}

}  // namespace
}  // namespace tessera
