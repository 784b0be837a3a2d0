#include "base/directory.h"

#include <gtest/gtest.h>

#include "base/fd.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

TEST(MakeDirectory, IsFineWhenItIsThereAndSaysWhenItCannotBe) {
  const TempDir dir = TempDir::Create("directory").value();
  const fs::path path = dir.path() / "a/b/c";
  EXPECT_TRUE(MakeDirectory(path, 0700).has_value());
  EXPECT_TRUE(MakeDirectory(path, 0755).has_value());
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  ASSERT_TRUE(ReplaceFile(path / "file", "").has_value());
  for (const char* below : {"file", "file/d"}) {
    const auto made = MakeDirectory(path / below, 0700);
    ASSERT_FALSE(made.has_value()) << below;
    EXPECT_EQ(made.error().code(), "NoDirectory");
  }
}

}  // namespace
}  // namespace tessera
