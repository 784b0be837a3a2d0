#include "base/queue.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tessera {
namespace {

TEST(BoundedQueue, RefusesWhenFullAndKeepsOrder) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_TRUE(queue.TryPush(2));
  EXPECT_FALSE(queue.TryPush(3));
  EXPECT_EQ(queue.Pop({}), 1);
  EXPECT_EQ(queue.Pop({}), 2);
}

TEST(BoundedQueue, StopWakesAWaiter) {
  BoundedQueue<int> queue(1);
  bool ended = false;
  {
    const std::jthread waiter([&](const std::stop_token& stop) { ended = !queue.Pop(stop).has_value(); });
  }  // Requests stop, then joins.
  EXPECT_TRUE(ended);
}

TEST(BoundedQueue, CloseDrainsThenEnds) {
  BoundedQueue<int> queue(4);
  ASSERT_TRUE(queue.TryPush(7));
  queue.Close();
  EXPECT_FALSE(queue.TryPush(8));
  EXPECT_EQ(queue.Pop({}), 7);
  EXPECT_EQ(queue.Pop({}), std::nullopt);
}

TEST(BoundedQueue, HandsEveryItemToExactlyOneThread) {
  constexpr int kItems = 2000;
  BoundedQueue<int> queue(16);
  std::mutex mutex;
  std::vector<int> seen(kItems, 0);
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 3; ++i) {
      workers.emplace_back([&] {
        while (const auto item = queue.Pop({})) {
          const std::lock_guard lock(mutex);
          ++seen[static_cast<std::size_t>(*item)];
        }
      });
    }
    for (int i = 0; i < kItems;) {
      if (queue.TryPush(i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
    queue.Close();
  }
  EXPECT_EQ(seen, std::vector<int>(kItems, 1));
}

}  // namespace
}  // namespace tessera
