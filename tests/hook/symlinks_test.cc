// create-symlinks, on roots whose author means harm.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <thread>

#include "base/text.h"
#include "tests/hook/hook_fixture.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kOneLink{"create-symlinks", "--link", "libcuda.so.1::/usr/lib/libcuda.so"};

TEST_P(HookTest, LinksAreMadeWithTheirFolders) {
  ASSERT_EQ(Run({"create-symlinks", "--link", "libcuda.so.1::/usr/lib/libcuda.so", "--link",
                 "../card1::/dev/dri/by-path/pci-0000:01:00.0-card"})
                .code,
            0);
  EXPECT_EQ(Tree(),
            "dev 40755\ndev/dri 40755\ndev/dri/by-path 40755\n"
            "dev/dri/by-path/pci-0000:01:00.0-card 120777 -> ../card1\n"
            "usr 40755\nusr/lib 40755\nusr/lib/libcuda.so 120777 -> libcuda.so.1");
}

TEST_P(HookTest, LinksAreMadeOnce) {
  ASSERT_EQ(Run(kOneLink).code, 0);
  struct stat first{}, second{};
  ASSERT_EQ(::lstat((root() / "usr/lib/libcuda.so").c_str(), &first), 0);
  ASSERT_EQ(Run(kOneLink).code, 0);
  ASSERT_EQ(::lstat((root() / "usr/lib/libcuda.so").c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);
}

TEST_P(HookTest, WhateverIsInTheWayIsReplaced) {
  const std::string there = (root() / "usr/lib/libcuda.so").string();
  const std::vector<std::pair<std::string, std::function<void()>>> cases{
      {"a file", [&] { Put("/usr/lib/libcuda.so", "old"); }},
      {"a link that starts alike", [&] { Link("/usr/lib/libcuda.so", "libcuda.so.12"); }},
      {"a link to the host", [&] { Link("/usr/lib/libcuda.so", (outside() / "precious").string()); }},
      {"a FIFO", [&] { ASSERT_EQ(::mkfifo(there.c_str(), 0666), 0); }},
  };
  fs::create_directories(root() / "usr/lib");
  for (const auto& [name, make] : cases) {
    SCOPED_TRACE(name);
    fs::remove(there);
    make();
    const Outcome result = Run(kOneLink);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(fs::read_symlink(there), "libcuda.so.1");
    EXPECT_THAT(Names("/usr/lib"), ElementsAre("libcuda.so"));
  }
}

TEST_P(HookTest, ADirectoryInTheWayIsAnErrorWithoutTraces) {
  Put("/usr/lib/libcuda.so/x", "");
  const Outcome result = Run(kOneLink);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("libcuda.so"));
  EXPECT_THAT(Names("/usr/lib"), ElementsAre("libcuda.so"));
}

TEST_P(HookTest, NoParentLeadsOut) {
  const std::string host = outside().string();
  const std::string up = "../../../../../../../../../../../../../../../../../";
  struct Case {
    std::string name, link, target;
    bool made;  // Inside the root, where the link leads when its "/" is the root's.
  };
  const std::vector<Case> cases{
      {"absolute, first parent", "/usr", host, false},
      {"absolute, last parent", "/usr/lib", host + "/lib", false},
      {"relative, first parent", "/usr", up + host, false},
      {"relative, last parent", "/usr/lib", up + host + "/lib", false},
      {"the root itself, upwards", "/usr/lib", "../../../../../..", true},
      {"the root itself, absolute", "/usr/lib", "/", true},
      {"a loop", "/usr/lib", "lib", false},
      {"a loop of two", "/usr", "/usr/lib", false},
      {"procfs", "/usr/lib", "/proc/self/root", false},
      {"procfs of the first process", "/usr", "/proc/1/root", false},
      {"a file", "/usr/lib", "/file", false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    for (const auto& entry : fs::directory_iterator(root())) fs::remove_all(entry.path());
    Put("/file", "");
    Link(c.link, c.target);
    const Outcome result = Run(kOneLink);
    EXPECT_EQ(result.code, c.made ? 0 : 1) << result.err;
    EXPECT_EQ(fs::is_symlink(root() / "libcuda.so"), c.made);
  }
}

TEST_P(HookTest, AnEscapingLinkLeadsToTheSamePathInsideWhenThatExists) {
  fs::create_directories(root() / outside().relative_path() / "lib");
  Link("/usr", outside().string());
  ASSERT_EQ(Run(kOneLink).code, 0);
  EXPECT_TRUE(fs::is_symlink(root() / outside().relative_path() / "lib/libcuda.so"));
}

TEST_P(HookTest, RealProcfsInTheRootIsNoWayOut) {
  TESSERA_NEEDS_MOUNTS();
  fs::create_directories(root() / "proc");
  for (const std::string target : {"/proc/1/root/tmp", "/proc/self/cwd", "/proc/self/root"}) {
    SCOPED_TRACE(target);
    fs::remove_all(root() / "usr");
    Link("/usr", target + outside().string());
    const Outcome result =
        RunMounted(kOneLink, [&] { ASSERT_EQ(::mount("proc", (root() / "proc").c_str(), "proc", 0, nullptr), 0); });
    EXPECT_EQ(result.code, 1) << result.err;
  }
}

TEST_P(HookTest, LongAndDeepPathsEnd) {
  std::string deep = "/";
  for (int i = 0; i < 150; ++i) deep += "d/";
  const Outcome result = Run({"create-symlinks", "--link", "a::" + deep + "link"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Run({"create-symlinks", "--link", "a::/" + std::string(5000, 'x')}).code, 1);
  EXPECT_EQ(Run({"create-symlinks", "--link", std::string(5000, 'x') + "::/a"}).code, 1);
}

// crun makes the root read-only before the hooks run.
TEST_P(HookTest, ARootWhoseMountIsReadOnlyIsCompletedAndStaysSo) {
  TESSERA_NEEDS_MOUNTS();
  bool read_only = false;
  const Outcome result = RunMounted(
      kOneLink, [&] { MakeReadOnly(); },
      [&] { read_only = ::mkdir((root() / "x").c_str(), 0700) != 0 && errno == EROFS; });
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(read_only);
  EXPECT_EQ(fs::read_symlink(root() / "usr/lib/libcuda.so"), "libcuda.so.1");
}

TEST_P(HookTest, AFileSystemThatIsReadOnlyIsAnError) {
  TESSERA_NEEDS_MOUNTS();
  const Outcome result =
      RunMounted(kOneLink, [&] { ASSERT_EQ(::mount("tmpfs", root().c_str(), "tmpfs", MS_RDONLY, nullptr), 0); });
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("Read-only file system"));
}

// One parent is a directory and a link to the host in turn, as fast as a thread can exchange them.
TEST_P(HookTest, ALinkSwappedDuringTheRunLeadsNowhere) {
  fs::create_directories(root() / "usr/lib");
  Link("/trap", outside().string());
  fs::create_directories(root() / "a");
  int good = 0;
  {
    const std::jthread attacker([&](const std::stop_token& stop) {
      const std::string one = (root() / "usr").string(), two = (root() / "trap").string();
      while (!stop.stop_requested()) ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, two.c_str(), RENAME_EXCHANGE);
    });
    for (int i = 0; i < 100; ++i) {
      const std::string name = std::to_string(i);
      good +=
          Run({"create-symlinks", "--link", "x::/usr/lib/" + name, "--link", "x::/a/../usr/lib/more" + name}).code == 0;
    }
  }
  EXPECT_GT(good, 0) << "the race was never won fairly either";
}

}  // namespace
}  // namespace tessera::tests
