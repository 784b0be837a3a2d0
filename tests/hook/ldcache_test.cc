// update-ldcache: what it writes into the root, and how far ldconfig gets.
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/hook/hook_fixture.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kFake = TESSERA_BINARY_DIR "/tests/fake_ldconfig";
#if defined(__x86_64__)
const std::string kMachine = "x86_64";
#else
const std::string kMachine = "aarch64";
#endif

std::vector<std::string> Update(const std::vector<std::string>& folders) {
  std::vector<std::string> arguments{"update-ldcache", "--ldconfig-path", kFake};
  for (const std::string& folder : folders) arguments.insert(arguments.end(), {"--folder", folder});
  return arguments;
}

constexpr std::string_view kConfined =
    "arg ldconfig\narg -f\narg /etc/ld.so.conf\narg -C\narg /etc/ld.so.cache\npid 1\nmay mount 0\nsees /etc\n";

TEST_P(HookTest, LdconfigSeesTheContainerAndNothingElse) {
  TESSERA_NEEDS_MOUNTS();
  const Outcome result = RunMounted(Update({"/opt/driver"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Read("/etc/ld.so.cache"), kConfined);
}

TEST_P(HookTest, AHostThatRunsFromItsInitramfsConfinesAsWell) {
  TESSERA_NEEDS_MOUNTS();
  const Outcome result = RunMounted(Update({"/opt/driver"}), [] { RefuseCall(SYS_pivot_root, EINVAL); });
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Read("/etc/ld.so.cache"), kConfined);
}

TEST_P(HookTest, WithoutNamespacesTheUpdateSaysWhatItNeeds) {
  TESSERA_NEEDS_MOUNTS();
  const Outcome result = RunMounted(Update({"/opt/driver"}), [] { RefuseCall(SYS_unshare, EPERM); });
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("CAP_SYS_ADMIN"));
  EXPECT_EQ(Tree(), "");
}

TEST_P(HookTest, TheHostsOwnLdconfigWorks) {
  TESSERA_NEEDS_MOUNTS();
  if (::access("/sbin/ldconfig", X_OK) != 0) GTEST_SKIP() << "this machine has no /sbin/ldconfig";
  const Outcome result = RunMounted({"update-ldcache", "--folder", "/opt/driver"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(Read("/etc/ld.so.cache"), HasSubstr("glibc-ld.so.cache"));
}

TEST_P(HookTest, FoldersComeFirstAndSystemFoldersLast) {
  TESSERA_NEEDS_MOUNTS();
  struct Case {
    std::string name;
    std::vector<std::pair<std::string, std::string>> files;
    std::string first, last;
  };
  const std::string debian = Format("/lib/{0}-linux-gnu\n/usr/lib/{0}-linux-gnu\n/lib\n/usr/lib\n", kMachine);
  const std::string other =
      std::string("/lib\n/usr/lib\n/lib64\n/usr/lib64\n") + (kMachine == "x86_64" ? "/libx32\n/usr/libx32\n" : "");
  const std::vector<Case> cases{
      {"Debian",
       {{"/etc/debian_version", "12.1"}, {"/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n"}},
       "/opt/driver\n",
       debian},
      {"distroless", {{"/etc/os-release", ""}}, "/opt/driver\n", other},
      {"scratch", {}, "/opt/driver\n", other},
      {"listed already", {{"/etc/ld.so.conf", "# all\n /opt/driver/ # ours\n"}}, "", other},
      {"listed in a file that is included relatively",
       {{"/etc/ld.so.conf", "include more/*.conf\n"}, {"/etc/more/x.conf", "/opt/driver"}},
       "",
       other},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    for (const auto& entry : fs::directory_iterator(root())) fs::remove_all(entry.path());
    for (const auto& [path, content] : c.files) Put(path, content);
    const Outcome result = RunMounted(Update({"/opt/driver", "/lib", "/opt/driver"}));
    ASSERT_EQ(result.code, 0) << result.err;
    const std::vector<std::string> names = Names("/etc/ld.so.conf.d");
    ASSERT_EQ(names.size(), c.first.empty() ? 1 : 2);
    EXPECT_THAT(names.back(), StartsWith("zz-nvcr-"));
    EXPECT_EQ(Read("/etc/ld.so.conf.d/" + names.back()), c.last);
    if (c.first.empty()) continue;
    EXPECT_THAT(names.front(), StartsWith("00-nvcr-"));
    EXPECT_EQ(Read("/etc/ld.so.conf.d/" + names.front()), c.first);
    EXPECT_EQ(Read("/etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\n");
  }
}

TEST_P(HookTest, UpdatingTwiceChangesNothing) {
  TESSERA_NEEDS_MOUNTS();
  Put("/etc/alpine-release", "3.20");
  ASSERT_EQ(RunMounted(Update({"/opt/driver"})).code, 0);
  const std::string once = Tree();
  ASSERT_EQ(RunMounted(Update({"/opt/driver"})).code, 0);
  EXPECT_EQ(Tree(), once);
}

TEST_P(HookTest, AlpineKeepsItsDefaultFolders) {
  TESSERA_NEEDS_MOUNTS();
  const std::string path = "/etc/ld-musl-" + kMachine + ".path";
  Put("/etc/alpine-release", "3.20");
  ASSERT_EQ(RunMounted(Update({"/opt/driver"})).code, 0);
  EXPECT_THAT(Read(path), StartsWith("/lib\n/usr/local/lib\n/usr/lib\n/opt/driver\n"));
  Put(path, "/lib:/opt/driver:/usr/lib");
  ASSERT_EQ(RunMounted(Update({"/opt/driver", "/opt/more"})).code, 0);
  EXPECT_THAT(Read(path), StartsWith("/lib:/opt/driver:/usr/lib\n/opt/more\n/lib64\n"));
}

TEST_P(HookTest, WhatLdconfigWouldHangOnIsAnError) {
  TESSERA_NEEDS_MOUNTS();
  const std::vector<std::pair<std::string, std::function<bool()>>> cases{
      {"a FIFO", [&] { return ::mkfifo((root() / "etc/ld.so.conf").c_str(), 0666) == 0; }},
      {"an included FIFO",
       [&] {
         Put("/etc/ld.so.conf", "include /etc/*.conf");
         return ::mkfifo((root() / "etc/x.conf").c_str(), 0666) == 0;
       }},
      {"a device", [&] { return MakeDevice("/etc/ld.so.conf", 1, 5); }},
      {"a directory", [&] { return fs::create_directories(root() / "etc/ld.so.conf"); }},
      {"a huge file",
       [&] {
         Put("/etc/ld.so.conf", "");
         return ::truncate((root() / "etc/ld.so.conf").c_str(), off_t{1} << 40) == 0;
       }},
  };
  for (const auto& [name, make] : cases) {
    SCOPED_TRACE(name);
    fs::remove_all(root() / "etc");
    fs::create_directories(root() / "etc");
    if (!make()) continue;  // Device nodes need CAP_MKNOD.
    const Outcome result = RunMounted(Update({"/opt/driver"}));
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("in the container"));
    EXPECT_FALSE(fs::exists(root() / "etc/ld.so.cache"));
  }
}

TEST_P(HookTest, NoConfigurationIsWrittenOutside) {
  TESSERA_NEEDS_MOUNTS();
  const std::string host = outside().string();
  const std::string up = "../../../../../../../../../../../..";
  for (const std::string& target : {host, up + host}) {
    for (const std::string link :
         {"/etc", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.cache", "/etc/ld.so.cache~"}) {
      SCOPED_TRACE(link + " -> " + target);
      for (const auto& entry : fs::directory_iterator(root())) fs::remove_all(entry.path());
      Link(link, target);
      static_cast<void>(RunMounted(Update({"/opt/driver"})));
      static_cast<void>(RunMounted({"update-ldcache", "--folder", "/opt/driver"}));
    }
  }
}

TEST_P(HookTest, OnlyAStaticLdconfigIsExecuted) {
  TESSERA_NEEDS_MOUNTS();
  const TempDir host = TempDir::Create("hook-test").value();
  const std::string script = (host.path() / "script").string();
  ASSERT_TRUE(ReplaceFile(script, "#!/bin/sh\necho run >/ran\n", 0755).has_value());
  for (const std::string& program :
       {std::string("/proc/self/exe"), script, std::string("/nonexistent"), std::string("/dev/null")}) {
    SCOPED_TRACE(program);
    const std::string path = program == "/proc/self/exe" ? fs::read_symlink(program).string() : program;
    const Outcome result = RunMounted({"update-ldcache", "--folder", "/opt/driver", "--ldconfig-path", path});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("the host's " + path));
    EXPECT_EQ(Tree(), "");
  }
  // Ubuntu's arrangement: the real one has another name.
  fs::copy(kFake, script + ".real");
  EXPECT_EQ(RunMounted({"update-ldcache", "--ldconfig-path", script}).code, 0);
  EXPECT_THAT(Read("/etc/ld.so.cache"), HasSubstr("pid 1"));
}

TEST_P(HookTest, TheImagesLdconfigIsNotTouched) {
  TESSERA_NEEDS_MOUNTS();
  fs::create_directories(root() / fs::path(kFake).parent_path().relative_path());
  ASSERT_TRUE(ReplaceFile(root() / fs::path(kFake).relative_path(), "#!/evil\n", 0755).has_value());
  ASSERT_EQ(RunMounted(Update({})).code, 0);
  EXPECT_THAT(Read("/etc/ld.so.cache"), StartsWith("arg ldconfig"));
}

TEST_P(HookTest, FailuresOfLdconfigAreFailures) {
  TESSERA_NEEDS_MOUNTS();
  Put("/fail", "");
  const Outcome result = RunMounted(Update({}));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("ldconfig failed with status 3"));
}

TEST_P(HookTest, TheCacheOfARootWhoseMountIsReadOnlyIsUpdated) {
  TESSERA_NEEDS_MOUNTS();
  const Outcome result = RunMounted(Update({"/opt/driver"}), [&] { MakeReadOnly(); });
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(Read("/etc/ld.so.cache"), HasSubstr("pid 1"));
}

TEST_P(HookTest, AFileSystemThatIsReadOnlyFailsTheUpdate) {
  TESSERA_NEEDS_MOUNTS();
  const Outcome result = RunMounted(
      Update({"/opt/driver"}), [&] { ASSERT_EQ(::mount("tmpfs", root().c_str(), "tmpfs", MS_RDONLY, nullptr), 0); });
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("Read-only file system"));
}

TEST_P(HookTest, NoMountIsLeftBehind) {
  TESSERA_NEEDS_MOUNTS();
  std::string before, after;
  const auto mounts = [](std::string& text) { text = ReadFile("/proc/thread-self/mountinfo").value(); };
  ASSERT_EQ(RunMounted(Update({}), [&] { mounts(before); }, [&] { mounts(after); }).code, 0);
  EXPECT_EQ(before, after);
}

TEST_P(HookTest, WithoutAMountPointTheReasonIsGiven) {
  TESSERA_NEEDS_MOUNTS();
  const Outcome result = Run(Update({}));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("the container's root is not a mount point"));
  EXPECT_EQ(Tree(), "");
}

}  // namespace
}  // namespace tessera::tests
