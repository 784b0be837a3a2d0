#include "journal/commit_group.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <semaphore>
#include <thread>
#include <vector>

namespace tessera::journal {
namespace {

CommitGroup::File NoFile() { return std::make_shared<const UniqueFd>(); }

TEST(CommitGroup, CallersDuringASyncShareTheNext) {
  constexpr int kCallers = 8;
  std::counting_semaphore<2> begun(0);
  std::counting_semaphore<2> proceed(0);
  CommitGroup group([&](int) {
    begun.release();
    proceed.acquire();
    return 0;
  });
  group.Appended(NoFile());
  std::vector<std::jthread> callers;
  callers.emplace_back([&, ticket = group.latest()] { EXPECT_TRUE(group.Wait(ticket).has_value()); });
  begun.acquire();
  for (int i = 0; i < kCallers; ++i) {
    group.Appended(NoFile());
    callers.emplace_back([&, ticket = group.latest()] { EXPECT_TRUE(group.Wait(ticket).has_value()); });
  }
  proceed.release(2);
  callers.clear();
  EXPECT_EQ(group.syncs(), 2U);
  EXPECT_TRUE(group.Wait(group.latest()).has_value());
  EXPECT_EQ(group.syncs(), 2U) << "what is durable needs none";
}

TEST(CommitGroup, AFailureReachesAllItConcernsAndAsksForANewFile) {
  bool fails = true;
  CommitGroup group([&](int) {
    errno = EIO;
    return fails ? -1 : 0;
  });
  group.Appended(NoFile());
  const auto first = group.latest();
  group.Appended(NoFile());
  EXPECT_EQ(group.Wait(group.latest()).error().code(), "JournalUnsynced");
  EXPECT_FALSE(group.Wait(first).has_value()) << "not tried again: the kernel may have dropped its pages";
  EXPECT_EQ(group.syncs(), 1U);
  EXPECT_TRUE(group.is_doubtful());

  fails = false;
  group.Replaced(NoFile());
  EXPECT_FALSE(group.is_doubtful());
  EXPECT_TRUE(group.Wait(group.latest()).has_value());
}

}  // namespace
}  // namespace tessera::journal
