#include "tests/hook/hook_fixture.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <thread>

#include "base/text.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;

// Everything below `top` except `without`: kind, mode, size, content.
std::string Describe(const fs::path& top, const fs::path& without) {
  std::vector<std::string> lines;
  for (auto it = fs::recursive_directory_iterator(top); it != fs::recursive_directory_iterator(); ++it) {
    if (it->path() == without) {
      it.disable_recursion_pending();
      continue;
    }
    struct stat status{};
    EXPECT_EQ(::lstat(it->path().c_str(), &status), 0);
    std::string line = Format("{} {:o}", it->path().lexically_relative(top).string(), status.st_mode);
    if (S_ISLNK(status.st_mode)) line += " -> " + fs::read_symlink(it->path()).string();
    if (S_ISREG(status.st_mode)) line += " " + Quote(ReadFile(it->path()).value());
    lines.push_back(std::move(line));
  }
  std::ranges::sort(lines);
  return Join(lines, "\n");
}

// For this thread and what it starts.
bool EnterOwnMounts() {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// A hook that leads out after all must not harm the machine that tests it: only `writable` is.
void ProtectHost(std::initializer_list<fs::path> writable) {
  for (const fs::path& path : writable) {
    ASSERT_EQ(::mount(path.c_str(), path.c_str(), nullptr, MS_BIND | MS_REC, nullptr), 0);
  }
  struct mount_attr read_only{.attr_set = MOUNT_ATTR_RDONLY}, normal{.attr_clr = MOUNT_ATTR_RDONLY};
  if (::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof read_only) != 0) {
    ASSERT_EQ(errno, ENOSYS) << "Linux 5.12 has it";
    return;
  }
  for (const fs::path& path : writable) {
    ASSERT_EQ(::mount_setattr(AT_FDCWD, path.c_str(), AT_RECURSIVE, &normal, sizeof normal), 0) << path;
  }
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

Outcome Spawn(const fs::path& directory, std::vector<std::string> arguments, const std::string& state,
              std::vector<std::string> environment) {
  const std::string in = (directory / "in").string(), out = (directory / "out").string();
  const std::string err = (directory / "err").string();
  EXPECT_TRUE(ReplaceFile(in, state).has_value());
  arguments.insert(arguments.begin(), "tessera-cdi-hook");
  // The leak checker starts a thread at the end, which a process that made a PID namespace cannot.
  environment.emplace_back("ASAN_OPTIONS=detect_leaks=0");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, TESSERA_BINARY_DIR "/bin/tessera-cdi-hook", &actions, nullptr, Pointers(arguments).data(),
                        Pointers(environment).data()),
            0);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(out).value(), ReadFile(err).value()};
}

}  // namespace

void HookTest::SetUp() {
  fs::create_directories(root_);
  fs::create_directories(outside_ / "lib");
  fs::create_directories(bundle_);
  ASSERT_TRUE(ReplaceFile(outside_ / "precious", "untouched").has_value());
  ASSERT_TRUE(ReplaceFile(outside_ / "lib" / "libcuda.so", "the host's").has_value());
  ASSERT_TRUE(ReplaceFile(bundle_ / "config.json", R"({"root":{"path":"../root"}})").has_value());
  before_ = Describe(dir_.path(), root_);
}

void HookTest::TearDown() { EXPECT_EQ(Describe(dir_.path(), root_), before_) << "something beside the root changed"; }

void HookTest::Put(const std::string& path, std::string_view content) {
  const fs::path file = root_ / fs::path(path).relative_path();
  fs::create_directories(file.parent_path());
  ASSERT_TRUE(ReplaceFile(file, content).has_value());
}

void HookTest::Link(const std::string& path, const std::string& target) {
  const fs::path link = root_ / fs::path(path).relative_path();
  fs::create_directories(link.parent_path());
  fs::create_symlink(target, link);
}

bool HookTest::MakeDevice(const std::string& path, unsigned major, unsigned minor) {
  const fs::path node = root_ / fs::path(path).relative_path();
  fs::create_directories(node.parent_path());
  return ::mknod(node.c_str(), S_IFCHR | 0666, makedev(major, minor)) == 0;
}

std::string HookTest::Read(const std::string& path) const {
  return ReadFile(root_ / fs::path(path).relative_path()).value_or("");
}

std::vector<std::string> HookTest::Names(const std::string& directory) const {
  std::vector<std::string> names;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(root_ / fs::path(directory).relative_path(), absent)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string HookTest::Tree() const { return Describe(root_, {}); }

std::string HookTest::State() const { return Format(R"({{"ociVersion":"1.0.2","root":{}}})", Quote(root_.string())); }

Outcome HookTest::Run(const std::vector<std::string>& arguments) { return RunWith(arguments, State()); }

Outcome HookTest::RunWith(const std::vector<std::string>& arguments, const std::string& state,
                          const std::vector<std::string>& environment) {
  Outcome outcome;
  std::thread([&] {
    if (EnterOwnMounts()) ProtectHost({dir_.path(), output_.path(), TESSERA_BINARY_DIR});
    if (!GetParam()) RefuseCall(SYS_openat2, ENOSYS);
    outcome = Spawn(output_.path(), arguments, state, environment);
  }).join();
  return outcome;
}

Outcome HookTest::RunMounted(const std::vector<std::string>& arguments, const std::function<void()>& before,
                             const std::function<void()>& after) {
  Outcome outcome;
  std::thread([&] {
    ASSERT_TRUE(EnterOwnMounts());
    ProtectHost({dir_.path(), output_.path(), TESSERA_BINARY_DIR});
    ASSERT_EQ(::mount(root_.c_str(), root_.c_str(), nullptr, MS_BIND | MS_REC, nullptr), 0);
    if (before) before();
    if (!GetParam()) RefuseCall(SYS_openat2, ENOSYS);
    outcome = Spawn(output_.path(), arguments, State(), {});
    if (after) after();
  }).join();
  return outcome;
}

void HookTest::MakeReadOnly() {
  ASSERT_EQ(::mount(nullptr, root_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr), 0);
}

void HookTest::RefuseCall(unsigned number, unsigned error) {
  std::array filter{
      sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))),
      sock_filter(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1)),
      sock_filter(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error)),
      sock_filter(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)),
  };
  const sock_fprog program{filter.size(), filter.data()};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

bool HookTest::CanMount() {
  bool can = false;
  std::thread([&] { can = EnterOwnMounts(); }).join();
  return can;
}

namespace {
std::string KernelName(const ::testing::TestParamInfo<bool>& info) { return info.param ? "Openat2" : "OldKernel"; }
}  // namespace

INSTANTIATE_TEST_SUITE_P(Hook, HookTest, ::testing::Bool(), KernelName);

}  // namespace tessera::tests
