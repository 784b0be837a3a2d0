#include "cdi/root_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cdi {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RootDirTest : public ::testing::Test {
 protected:
  void Put(const fs::path& relative, std::string_view content = "inside") {
    fs::create_directories((top_ / relative).parent_path());
    ASSERT_TRUE(ReplaceFile(top_ / relative, content).has_value());
  }
  void Link(const fs::path& relative, const fs::path& target) { fs::create_symlink(target, top_ / relative); }

  const TempDir dir_ = TempDir::Create("root-dir-test").value();
  const fs::path top_ = dir_.path() / "root";  // Its neighbours are what a link must not reach.
};

TEST_F(RootDirTest, LinksResolveAsInsideAChroot) {
  Put("a/b/file");
  ASSERT_TRUE(ReplaceFile(dir_.path() / "file", "outside").has_value());
  Link("absolute", "/a/b/file");
  Link("relative", "a/./b//file");
  Link("folder", "/a/b");
  Link("a/up", "../../../../a/b/file");
  Link("escape", "../file");
  Link("escape_absolute", dir_.path() / "file");
  Link("chain", "absolute");
  Link("loop", "loop");
  const RootDir root = RootDir::Open(top_).value();

  struct Case {
    std::string_view path;
    std::optional<std::string> real;
  };
  const Case cases[] = {
      {"/a/b/file", "/a/b/file"},
      {"a/b/file", "/a/b/file"},
      {"/a//b/./", "/a/b"},
      {"/a/", "/a"},
      {"/", "/"},
      {"/..", "/"},
      {"/a/../../../a/b", "/a/b"},
      {"/absolute", "/a/b/file"},
      {"/relative", "/a/b/file"},
      {"/folder/file", "/a/b/file"},
      {"/folder/../up", "/a/b/file"},
      {"/chain", "/a/b/file"},
      {"/escape", std::nullopt},
      {"/escape_absolute", std::nullopt},
      {"/loop", std::nullopt},
      {"/absent", std::nullopt},
      {"/a/b/file/below", std::nullopt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.path);
    const auto found = root.Find(c.path);
    EXPECT_EQ(found ? std::optional(found->path) : std::nullopt, c.real);
  }
  EXPECT_EQ(root.Read("/chain", 100), "inside");
  EXPECT_EQ(root.Read("/chain", 3), std::nullopt);
  EXPECT_EQ(root.Read("/escape", 100), std::nullopt);
}

TEST_F(RootDirTest, OnlyRegularFilesAreOpened) {
  Put("file");
  ASSERT_EQ(::mkfifo((top_ / "fifo").c_str(), 0600), 0);
  const RootDir root = RootDir::Open(top_).value();
  EXPECT_TRUE(root.OpenFile("/file"));
  EXPECT_FALSE(root.OpenFile("/fifo"));
  EXPECT_FALSE(root.OpenFile("/"));
  EXPECT_EQ(root.Read("/fifo", 100), std::nullopt);
}

TEST_F(RootDirTest, ListsPlainNamesInOrder) {
  for (const char* name : {"b", "a", ".hidden", "with space", "line\nend"}) Put(fs::path("d") / name);
  const RootDir root = RootDir::Open(top_).value();
  EXPECT_THAT(root.List("/d"), ElementsAre(".hidden", "a", "b"));
  EXPECT_THAT(root.List("/d/a"), IsEmpty());
  EXPECT_THAT(root.List("/absent"), IsEmpty());
}

TEST_F(RootDirTest, ReadsALinksOwnText) {
  Put("a/file");
  Link("a/link", "../nowhere");
  const RootDir root = RootDir::Open(top_).value();
  EXPECT_EQ(root.ReadLink("/a/link"), "../nowhere");
  EXPECT_EQ(root.ReadLink("/a/file"), std::nullopt);
  EXPECT_EQ(root.ReadLink("/absent/link"), std::nullopt);
}

TEST_F(RootDirTest, ARootMustBeADirectory) {
  Put("file");
  EXPECT_FALSE(RootDir::Open(top_ / "file").has_value());
  EXPECT_FALSE(RootDir::Open(top_ / "absent").has_value());
}

}  // namespace
}  // namespace tessera::cdi
