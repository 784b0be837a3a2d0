#include "base/memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace tessera {
namespace {

// Of /proc/self/status, in KiB.
long Status(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long value = 0;
    if (word == key + ":" && status >> value) return value;
  }
  return -1;
}

TEST(ReleaseUnusedMemory, LetsGoOfTextAndGoesOn) {
  const long before = Status("RssFile");
  ReleaseUnusedMemory();
  const long after = Status("RssFile");
  ASSERT_GT(before, 0);
  EXPECT_LT(after, before);
  ReleaseUnusedMemory();
}

}  // namespace
}  // namespace tessera
