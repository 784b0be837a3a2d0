#include "base/fnv.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Leases of two versions meet in one file, so the number of a name never changes. From the test vectors of FNV's authors.
TEST(Fnv1a, IsWhatItsAuthorsPublished) {
  EXPECT_EQ(Fnv1a(""), 0xCBF29CE484222325);
  EXPECT_EQ(Fnv1a("a"), 0xAF63DC4C8601EC8C);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171F73967E8);
  EXPECT_EQ(Fnv1a("bar", Fnv1a("foo")), Fnv1a("foobar"));
}

}  // namespace
}  // namespace tessera
