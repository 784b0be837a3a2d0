#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

TEST(UniqueFd, ClosesOnceAndMoves) {
  UniqueFd a{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  const int raw = a.get();
  UniqueFd b = std::move(a);
  EXPECT_EQ(b.get(), raw);
  b.Reset();
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

TEST(ReadFile, ReadsWhatReplaceFileWrote) {
  const auto dir = TempDir::Create("fd-test");
  ASSERT_TRUE(dir.has_value());
  const fs::path path = dir->path() / "a";
  ASSERT_TRUE(ReplaceFile(path, "one", 0640).has_value());
  ASSERT_TRUE(ReplaceFile(path, "two", 0600).has_value());
  EXPECT_EQ(ReadFile(path).value(), "two");
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir->path()), {}), 1) << "no temporary file is left";
}

TEST(ReadFile, RefusesWhatIsNoReasonableFile) {
  const auto dir = TempDir::Create("fd-test");
  ASSERT_TRUE(dir.has_value());
  EXPECT_EQ(ReadFile(dir->path() / "absent").error().code(), "FileUnreadable");
  EXPECT_EQ(ReadFile(dir->path()).error().code(), "FileUnreadable");
  const fs::path fifo = dir->path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(fifo).error().code(), "FileUnreadable") << "and does not wait for a writer";
  ASSERT_TRUE(ReplaceFile(dir->path() / "big", std::string(100, 'x')).has_value());
  EXPECT_EQ(ReadFile(dir->path() / "big", 99).error().code(), "FileTooLarge");
  EXPECT_EQ(ReadFile(dir->path() / "big", 100).value().size(), 100U);
}

TEST(TempDir, LeavesNothing) {
  fs::path path;
  {
    const auto dir = TempDir::Create("fd-test");
    ASSERT_TRUE(dir.has_value());
    path = dir->path();
    ASSERT_TRUE(ReplaceFile(path / "a", "x").has_value());
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(WriteAll, ClosedSocketIsAnErrorNotASignal) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd ours{ends[0]};
  UniqueFd theirs{ends[1]};
  ASSERT_TRUE(WriteAll(ours.get(), "x").has_value());
  theirs.Reset();
  EXPECT_EQ(WriteAll(ours.get(), "x").error().message(), "write: Broken pipe");  // SIGPIPE would end the test.
}

TEST(WriteAll, WorksOnAPipeAsWell) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader{ends[0]};
  const UniqueFd writer{ends[1]};
  EXPECT_TRUE(WriteAll(writer.get(), "x").has_value());
}

}  // namespace
}  // namespace tessera
