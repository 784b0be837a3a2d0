#include "cel/selector_cache.h"

#include <gtest/gtest.h>

namespace tessera::cel {
namespace {

// Two selectors are one when they share their compiled expression.
bool IsSame(const Result<DeviceSelector>& a, const Result<DeviceSelector>& b) {
  return a->expression().data() == b->expression().data();
}

TEST(SelectorCache, CompilesOnce) {
  SelectorCache cache({});
  const auto first = cache.Get("device.driver == 'a'");
  EXPECT_TRUE(IsSame(first, cache.Get("device.driver == 'a'")));
  EXPECT_FALSE(IsSame(first, cache.Get("device.driver == 'b'")));
}

TEST(SelectorCache, RemembersErrors) {
  SelectorCache cache({});
  EXPECT_EQ(cache.Get("device.nosuch == 1").error().code(), "CelCompileError");
  EXPECT_EQ(cache.Get("device.nosuch == 1").error(), cache.Get("device.nosuch == 1").error());
}

TEST(SelectorCache, ForgetsWhatWasAskedForLongestAgo) {
  SelectorCache cache({}, 2);
  const auto a = cache.Get("device.driver == 'a'");
  const auto b = cache.Get("device.driver == 'b'");
  EXPECT_TRUE(IsSame(a, cache.Get("device.driver == 'a'")));
  const auto c = cache.Get("device.driver == 'c'");  // Takes the place of b.
  EXPECT_TRUE(IsSame(a, cache.Get("device.driver == 'a'")));
  EXPECT_TRUE(IsSame(c, cache.Get("device.driver == 'c'")));
  EXPECT_FALSE(IsSame(b, cache.Get("device.driver == 'b'")));
}

}  // namespace
}  // namespace tessera::cel
