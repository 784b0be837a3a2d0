// disable-device-node-modification: the driver's parameters as the container sees them.
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/text.h"
#include "tests/hook/hook_fixture.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kParams = "/proc/driver/nvidia/params";
constexpr std::string_view kAllowed = "Mobile: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\n";
constexpr std::string_view kHidden = "Mobile: 4294967295\nModifyDeviceFiles: 0\nDeviceFileUID: 0\n";

class HostParams {
 public:
  explicit HostParams(std::string_view text) { EXPECT_TRUE(ReplaceFile(dir_.path() / "params", text).has_value()); }
  std::vector<std::string> Arguments() const {
    return {"disable-device-node-modification", "--params-path", (dir_.path() / "params").string()};
  }

 private:
  TempDir dir_ = TempDir::Create("hook-test").value();
};

// The mounts of this thread below `root`, as "path options".
std::vector<std::string> MountsBelow(const fs::path& root) {
  const std::string text = ReadFile("/proc/thread-self/mountinfo").value();
  std::vector<std::string> found;
  for (const std::string_view line : Split(text, '\n')) {
    const auto fields = Split(line, ' ');
    if (fields.size() > 6 && fields[4].starts_with(root.string() + "/")) {
      found.push_back(Format("{} {} {}", fields[4].substr(root.string().size()), fields[5], fields[6]));
    }
  }
  return found;
}

TEST_P(HookTest, ThePermissionIsHiddenBehindAReadOnlyMount) {
  TESSERA_NEEDS_MOUNTS();
  const HostParams host(kAllowed);
  Put(kParams, kAllowed);
  std::string seen;
  std::vector<std::string> mounts;
  const Outcome result = RunMounted(host.Arguments(), {}, [&] {
    seen = Read(kParams);
    mounts = MountsBelow(root());
  });
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(seen, kHidden);
  ASSERT_EQ(mounts.size(), 1);
  EXPECT_THAT(mounts[0], StartsWith(kParams + " ro,nosuid,nodev,noexec,relatime -")) << "read-only and private";
  EXPECT_EQ(Read(kParams), kAllowed) << "only in the container's mount namespace";
  EXPECT_THAT(Names("/run"), IsEmpty());
}

TEST_P(HookTest, HidingTwiceMountsOnce) {
  TESSERA_NEEDS_MOUNTS();
  const HostParams host(kAllowed);
  Put(kParams, kAllowed);
  int second = -1;
  std::size_t mounts = 0;
  const Outcome first = RunMounted(host.Arguments(), {}, [&] {
    second = Run(host.Arguments()).code;
    mounts = MountsBelow(root()).size();
  });
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(second, 0);
  EXPECT_EQ(mounts, 1);
}

TEST_P(HookTest, AReadOnlyRootHidesItThroughItsDev) {
  TESSERA_NEEDS_MOUNTS();
  const HostParams host(kAllowed);
  Put(kParams, kAllowed);
  fs::create_directories(root() / "dev");
  std::string seen;
  std::vector<std::string> mounts, dev;
  const Outcome result = RunMounted(
      host.Arguments(),
      [&] {
        MakeReadOnly();
        ASSERT_EQ(::mount("tmpfs", (root() / "dev").c_str(), "tmpfs", 0, nullptr), 0);
      },
      [&] { seen = Read(kParams), mounts = MountsBelow(root()), dev = Names("/dev"); });
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(seen, kHidden);
  EXPECT_EQ(mounts.size(), 2);
  EXPECT_THAT(dev, IsEmpty());
}

TEST_P(HookTest, WithoutPermissionOrDriverThereIsNothingToHide) {
  for (const std::string_view text :
       {"ModifyDeviceFiles: 0\n", "XModifyDeviceFiles: 1\n", "", "ModifyDeviceFiles: 12\n"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(Run(HostParams(text).Arguments()).code, 0);
  }
  EXPECT_EQ(Run({"disable-device-node-modification", "--params-path=/nonexistent"}).code, 0);
  EXPECT_EQ(Tree(), "");
}

TEST_P(HookTest, NothingIsMountedOutside) {
  TESSERA_NEEDS_MOUNTS();
  const HostParams host(kAllowed);
  const std::string precious = (outside() / "precious").string();
  const std::vector<std::pair<std::string, std::function<void()>>> cases{
      {"no procfs", [] {}},
      {"a link to the host's file", [&] { Link(kParams, precious); }},
      {"a link to a file inside", [&] { Put("/file", "x"), Link(kParams, "/file"); }},
      {"a parent that leads out", [&] { Link("/proc", "../../../../../../../../.." + outside().string()); }},
      {"a directory", [&] { fs::create_directories(root() / kParams.substr(1)); }},
      {"a FIFO",
       [&] {
         fs::create_directories(root() / "proc/driver/nvidia");
         ASSERT_EQ(::mkfifo((root() / kParams.substr(1)).c_str(), 0666), 0);
       }},
      {"folders that lead out",
       [&] {
         Put(kParams, kAllowed), Link("/run", outside().string()), Link("/dev", "../../../../.." + outside().string());
       }},
  };
  for (const auto& [name, make] : cases) {
    SCOPED_TRACE(name);
    for (const auto& entry : fs::directory_iterator(root())) fs::remove_all(entry.path());
    make();
    std::vector<std::string> inside, beside;
    const Outcome result = RunMounted(host.Arguments(), {}, [&] {
      inside = MountsBelow(root());
      beside = MountsBelow(outside());
    });
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_THAT(inside, IsEmpty());
    EXPECT_THAT(beside, IsEmpty());
  }
}

TEST_P(HookTest, AHostFileThatIsNoneIsAnError) {
  const Outcome result = Run({"disable-device-node-modification", "--params-path", outside().string()});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr(outside().string()));
}

}  // namespace
}  // namespace tessera::tests
