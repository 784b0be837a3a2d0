#include "nvml/event_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::nvml {
namespace {

GpuEvent Xid(std::uint64_t code, std::string uuid = "GPU-a") {
  return {.type = 8, .data = code, .uuid = std::move(uuid)};
}

TEST(EventBatch, EventsThatAreAlikeBecomeOneWithACount) {
  EventBatch batch;
  for (int i = 0; i < 10'000; ++i) batch.Add(Xid(31));
  const Observation seen = batch.Take();
  ASSERT_EQ(seen.events.size(), 1U);
  EXPECT_EQ(seen.events[0].count, 10'000U);
  EXPECT_EQ(seen.dropped, 0U);
  EXPECT_TRUE(batch.empty());
}

TEST(EventBatch, KeepsApartWhatDiffersInAnything) {
  EventBatch batch;
  batch.Add(Xid(31));
  batch.Add(Xid(32));
  batch.Add(Xid(31, "GPU-b"));
  batch.Add({.type = 1, .data = 31, .uuid = "GPU-a"});
  batch.Add({.type = 8, .data = 31, .uuid = "GPU-a", .gpu_instance = 1});
  batch.Add({.type = 8, .data = 31, .uuid = "GPU-a", .gpu_instance = 1, .compute_instance = 0});
  const auto seen = batch.Take();
  ASSERT_EQ(seen.events.size(), 6U);
  EXPECT_EQ(seen.events[1].data, 32U) << "in the order they came";
}

TEST(EventBatch, IsBoundedAndCountsWhatItDropped) {
  EventBatch batch;
  for (std::uint64_t code = 0; code < 2 * EventBatch::kMostKinds; ++code) batch.Add(Xid(code));
  batch.Add(Xid(0));
  const auto seen = batch.Take();
  EXPECT_EQ(seen.events.size(), EventBatch::kMostKinds);
  EXPECT_EQ(seen.events[0].count, 2U) << "kinds that are in are still counted";
  EXPECT_EQ(seen.dropped, EventBatch::kMostKinds);
}

}  // namespace
}  // namespace tessera::nvml
