#include "sim/tree_test.h"

#include <gmock/gmock.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace tessera::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Tree = TreeTest;

constexpr unsigned kNobody = 65534;

// As a user who may not make device nodes. Returns the exit status of `body`, which runs in a child.
int AsNobody(const fs::path& dir, const std::function<int()>& body) {
  if (::geteuid() == 0 && ::chown(dir.c_str(), kNobody, kNobody) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(100);
    ::_exit(body());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Tree, DeviceNodesCarryTheMachinesNumbers) {
  const auto done = SyncTree(root_, TwoGpus());
  ASSERT_TRUE(done.has_value()) << done.error().Text();
  struct Case {
    std::string_view path;
    unsigned major, minor, mode;
  };
  for (const Case& c :
       {Case{"dev/nvidia0", 195, 0, 0666}, Case{"dev/nvidia1", 195, 1, 0666}, Case{"dev/nvidiactl", 195, 255, 0666},
        Case{"dev/nvidia-modeset", 195, 254, 0666}, Case{"dev/nvidia-uvm", 511, 0, 0666},
        Case{"dev/nvidia-uvm-tools", 511, 1, 0666}, Case{"dev/nvidia-caps/nvidia-cap1", 508, 1, 0400},
        Case{"dev/nvidia-caps/nvidia-cap2", 508, 2, 0444}}) {
    SCOPED_TRACE(c.path);
    const struct stat status = Stat(c.path);
    EXPECT_EQ(status.st_mode & 07777U, c.mode);
    if (!done->empty()) continue;  // No permission: a plain file.
    EXPECT_TRUE(S_ISCHR(status.st_mode));
    EXPECT_EQ(status.st_rdev, makedev(c.major, c.minor));
  }
  EXPECT_FALSE(Exists("dev/nvidia-nvswitchctl"));
  EXPECT_FALSE(Exists("dev/nvidia-nvlink"));
}

TEST_F(Tree, WithoutPermissionPlainFilesStandInAndItSaysSo) {
  const auto body = [&] {
    for (int i = 0; i < 2; ++i) {
      const auto done = SyncTree(root_, TwoGpus());
      if (!done.has_value()) return 1;
      if (*done != std::vector<std::string>{"character devices: not permitted, plain files instead"}) return 2;
    }
    const auto before = Snapshot();
    if (!SyncTree(root_, TwoGpus()).has_value()) return 3;
    return before == Snapshot() ? 0 : 4;
  };
  ASSERT_EQ(AsNobody(root_, body), 0);
  EXPECT_TRUE(S_ISREG(Stat("dev/nvidia0").st_mode));
  EXPECT_EQ(Stat("dev/nvidia0").st_mode & 07777U, 0666U);
  EXPECT_EQ(Stat("dev/nvidia-caps/nvidia-cap1").st_mode & 07777U, 0400U);
  EXPECT_EQ(Read("sys/devices/pci0000:40/0000:47:00.0/numa_node"), "1\n");

  if (::geteuid() != 0) return;
  const auto as_root = SyncTree(root_, TwoGpus());  // Who may make them later gets them.
  ASSERT_TRUE(as_root.has_value()) << as_root.error().Text();
  if (as_root->empty()) {
    EXPECT_TRUE(S_ISCHR(Stat("dev/nvidia0").st_mode));
  }
}

TEST_F(Tree, AnErrorNamesThePath) {
  Sync(TwoGpus());
  fs::permissions(root_, fs::perms{0755});
  const int exit = AsNobody(root_ / "dev", [&] {
    Machine changed = TwoGpus();
    changed.gpus[1].present = false;  // Its node may go, but proc/ is not this user's.
    const auto done = SyncTree(root_, changed);
    const std::string path = (root_ / "proc/driver/nvidia/").string();
    return !done.has_value() && done.error().message().contains(path) ? 0 : 1;
  });
  if (::geteuid() == 0) {
    EXPECT_EQ(exit, 0);
    EXPECT_FALSE(Exists("dev/nvidia1"));
  }
  EXPECT_THAT(SyncTree(root_ / "absent", TwoGpus()).error().message(), HasSubstr("absent: No such file"));
}

TEST_F(Tree, ProcSaysWhatTheKernelModulesSay) {
  Machine machine = TwoGpus();
  machine.kernel_version = "580.82.07";
  Sync(machine);
  EXPECT_THAT(Read("proc/driver/nvidia/version"), StartsWith("NVRM version: NVIDIA UNIX Open Kernel Module for "));
  EXPECT_THAT(Read("proc/driver/nvidia/version"), HasSubstr("  580.82.07  Release Build  "));
  EXPECT_EQ(Read("proc/driver/nvidia/gpus/0000:07:00.0/information"),
            "Model: \t NVIDIA A100-SXM4-40GB\n"
            "IRQ: \t 128\n"
            "GPU UUID: \t GPU-00000000-0000-0000-0000-000000000000\n"
            "Video BIOS: \t 92.00.45.00.03\n"
            "Bus Type: \t PCIe\n"
            "DMA Size: \t 47 bits\n"
            "DMA Mask: \t 0x7fffffffffff\n"
            "Bus Location: \t 0000:07:00.0\n"
            "Device Minor: \t 0\n"
            "GPU Firmware: \t 580.82.07\n"
            "GPU Excluded: \t No\n");
  EXPECT_THAT(Read("proc/driver/nvidia/params"), HasSubstr("\nModifyDeviceFiles: 1\n"));
  EXPECT_EQ(Read("proc/driver/nvidia/capabilities/mig/config"),
            "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
  EXPECT_EQ(Read("proc/devices"),
            "Character devices:\n  1 mem\n  4 tty\n  5 /dev/tty\n 10 misc\n 13 input\n 29 fb\n136 pts\n"
            "195 nvidia\n195 nvidia-modeset\n195 nvidiactl\n226 drm\n"
            "507 nvidia-caps-imex-channels\n508 nvidia-caps\n509 nvidia-nvlink\n510 nvidia-nvswitch\n511 nvidia-uvm\n"
            "\nBlock devices:\n  7 loop\n  8 sd\n259 blkext\n");
  EXPECT_EQ(Read("sys/module/nvidia/version"), "580.82.07\n");

  machine.open_kernel_module = false;
  Sync(machine);
  EXPECT_THAT(Read("proc/driver/nvidia/version"), HasSubstr(" Kernel Module  580.82.07  "));
}

TEST_F(Tree, MigMinorsListEveryInstanceThatCouldBe) {
  Sync(TwoGpus());
  const std::string text = Read("proc/driver/nvidia-caps/mig-minors");
  EXPECT_THAT(text, StartsWith("config 1\nmonitor 2\ngpu0/gi0/access 3\ngpu0/gi0/ci0/access 4\n"));
  EXPECT_THAT(text, HasSubstr("\ngpu3/gi3/ci3/access 439\n"));
  EXPECT_THAT(text, HasSubstr("\ngpu6/gi11/ci7/access 920\n"));
  EXPECT_TRUE(text.ends_with("\ngpu31/gi14/ci7/access 4322\n"));
}

TEST_F(Tree, InstancesComeAndGoWithTheirCapabilities) {
  Machine machine = TwoGpus();
  Gpu& gpu = machine.gpus[1];
  gpu.mig_mode = 1;
  gpu.instances = {{.id = 2, .profile_id = 9, .start = 0, .size = 4, .compute = std::vector<ComputeInstance>(2)}};
  gpu.instances[0].compute[1].id = 1;
  Sync(machine);
  const std::string base = "proc/driver/nvidia/capabilities/gpu1/mig/gi2";
  EXPECT_EQ(Read(base + "/access"), "DeviceFileMinor: 156\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  EXPECT_EQ(Read(base + "/ci1/access"), "DeviceFileMinor: 158\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  for (const std::string_view node : {"156", "157", "158"}) {
    EXPECT_EQ(Stat(Format("dev/nvidia-caps/nvidia-cap{}", node)).st_mode & 07777U, 0444U);
  }

  gpu.instances[0].compute.pop_back();
  Sync(machine);
  EXPECT_FALSE(Exists(base + "/ci1"));
  EXPECT_FALSE(Exists("dev/nvidia-caps/nvidia-cap158"));
  EXPECT_TRUE(Exists(base + "/ci0/access"));

  gpu.instances.clear();
  Sync(machine);
  EXPECT_FALSE(Exists("proc/driver/nvidia/capabilities/gpu1"));
  EXPECT_TRUE(Exists("dev/nvidia-caps/nvidia-cap2"));
  EXPECT_FALSE(Exists("dev/nvidia-caps/nvidia-cap156"));
}

TEST_F(Tree, PciTreeLeadsFromTheAddressToTheRootComplex) {
  Sync(TwoGpus());
  const fs::path link = root_ / "sys/bus/pci/devices/0000:07:00.0";
  EXPECT_EQ(fs::read_symlink(link), "../../../devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:07:00.0");
  EXPECT_EQ(fs::canonical(link),
            fs::canonical(root_) / "sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:07:00.0");
  EXPECT_EQ(fs::canonical(link / "driver"), fs::canonical(root_) / "sys/bus/pci/drivers/nvidia");
  EXPECT_EQ(fs::canonical(link / "subsystem"), fs::canonical(root_) / "sys/bus/pci");
  EXPECT_EQ(fs::canonical(root_ / "sys/bus/pci/drivers/nvidia/0000:47:00.0"),
            fs::canonical(root_) / "sys/devices/pci0000:40/0000:47:00.0");
  const std::map<std::string_view, std::string_view> expected{
      {"vendor", "0x10de\n"},
      {"device", "0x20b0\n"},
      {"class", "0x030200\n"},
      {"subsystem_vendor", "0x10de\n"},
      {"subsystem_device", "0x134f\n"},
      {"numa_node", "0\n"},
      {"local_cpulist", "0-31,64-95\n"},
      {"current_link_speed", "16.0 GT/s PCIe\n"},
      {"max_link_speed", "16.0 GT/s PCIe\n"},
      {"current_link_width", "16\n"},
      {"max_link_width", "16\n"},
      {"resource",
       "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n"
       "0x0000200000000000 0x0000200fffffffff 0x000000000014220c\n"
       "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
       "0x0000201000000000 0x0000201001ffffff 0x000000000014220c\n"
       "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
       "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
       "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"},
  };
  for (const auto& [name, content] : expected) {
    EXPECT_EQ(Read(Format("sys/bus/pci/devices/0000:07:00.0/{}", name)), content) << name;
  }
  EXPECT_EQ(Read("sys/bus/pci/devices/0000:01:00.0/class"), "0x060400\n");
  EXPECT_EQ(Read("sys/devices/system/node/node1/cpulist"), "32-63,96-127\n");
}

TEST_F(Tree, AnUnpluggedGpuIsNowhere) {
  Machine machine = TwoGpus();
  Sync(machine);
  machine.gpus[0].present = false;
  Sync(machine);
  for (const std::string_view path :
       {"dev/nvidia0", "proc/driver/nvidia/gpus/0000:07:00.0", "sys/bus/pci/devices/0000:07:00.0",
        "sys/bus/pci/drivers/nvidia/0000:07:00.0", "sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:07:00.0"}) {
    EXPECT_FALSE(Exists(path)) << path;
  }
  EXPECT_TRUE(Exists("dev/nvidia1"));
  EXPECT_TRUE(Exists("sys/bus/pci/devices/0000:01:00.0")) << "the bridge stays";

  machine.gpus[0].present = true;
  Sync(machine);
  EXPECT_TRUE(Exists("dev/nvidia0"));
  EXPECT_TRUE(Exists("sys/bus/pci/devices/0000:07:00.0/vendor"));
}

TEST_F(Tree, AnUnloadedDriverLeavesOnlyTheHardware) {
  Machine machine = TwoGpus();
  machine.switches = {{"0000:c4:00.0", "pci0000:c0", 0x1AF110DE}};
  Sync(machine);
  machine.driver_loaded = false;
  Sync(machine);
  EXPECT_TRUE(fs::is_empty(root_ / "dev"));
  EXPECT_TRUE(fs::is_empty(root_ / "proc/driver"));
  EXPECT_TRUE(fs::is_empty(root_ / "sys/module"));
  EXPECT_FALSE(Exists("sys/bus/pci/devices/0000:07:00.0/driver"));
  EXPECT_FALSE(Exists("sys/bus/pci/drivers/nvidia"));
  EXPECT_THAT(Read("proc/devices"), Not(HasSubstr("nvidia")));
  EXPECT_EQ(Read("sys/bus/pci/devices/0000:07:00.0/vendor"), "0x10de\n");
}

TEST_F(Tree, AGpuOfVfioBelongsToThatDriver) {
  Machine machine = TwoGpus();
  Sync(machine);
  machine.gpus[1].vfio = true;
  Sync(machine);
  EXPECT_EQ(fs::read_symlink(root_ / "sys/bus/pci/devices/0000:47:00.0/driver").filename(), "vfio-pci");
  EXPECT_FALSE(Exists("dev/nvidia1"));
  EXPECT_FALSE(Exists("proc/driver/nvidia/gpus/0000:47:00.0"));
}

TEST_F(Tree, SwitchesHaveNodesAndEntries) {
  Machine machine = TwoGpus();
  machine.switches = {{"0000:c4:00.0", "pci0000:c0", 0x1AF110DE}, {"0000:c5:00.0", "pci0000:c0", 0x1AF110DE}};
  Sync(machine);
  for (const std::string_view path : {"dev/nvidia-nvswitch0", "dev/nvidia-nvswitch1", "dev/nvidia-nvswitchctl",
                                      "dev/nvidia-nvlink", "proc/driver/nvidia-nvswitch/devices/0000:c5:00.0"}) {
    EXPECT_TRUE(Exists(path)) << path;
  }
  EXPECT_EQ(Read("sys/bus/pci/devices/0000:c4:00.0/class"), "0x068000\n");
  EXPECT_EQ(Read("sys/bus/pci/devices/0000:c4:00.0/device"), "0x1af1\n");
  machine.switches.pop_back();
  Sync(machine);
  EXPECT_FALSE(Exists("dev/nvidia-nvswitch1"));
  EXPECT_FALSE(Exists("sys/bus/pci/devices/0000:c5:00.0"));
}

TEST_F(Tree, ASecondSyncTouchesNothing) {
  ASSERT_TRUE(WriteTree(root_, TwoGpus(), Options()).has_value());
  const auto before = Snapshot();
  EXPECT_GT(before.size(), 100U);
  Sync(TwoGpus());
  EXPECT_EQ(before, Snapshot());
  ASSERT_TRUE(WriteTree(root_, TwoGpus(), Options()).has_value());
  EXPECT_EQ(before, Snapshot());
}

TEST_F(Tree, DamageIsRepairedAndForeignThingsStay) {
  Sync(TwoGpus());
  const auto put = [&](std::string_view path) {
    fs::create_directories((root_ / path).parent_path());
    ASSERT_TRUE(ReplaceFile(root_ / path, "mine").has_value());
  };
  const std::vector<std::string> foreign{
      "dev/null",           "proc/cpuinfo",          "proc/driver/rtc",
      "sys/class/net/eth0", "sys/devices/virtual/x", "dev/nvidia-caps-imex-channels/channel0"};
  const std::vector<std::string> obsolete{
      "dev/nvidia7", "dev/nvidia-caps/nvidia-cap99", "dev/.tessera-sim.new",  // As a crash leaves it.
      "proc/driver/nvidia/gpus/0000:99:00.0/information", "sys/devices/pci0000:99/0000:99:00.0/vendor"};
  for (const auto& path : foreign) put(path);
  for (const auto& path : obsolete) put(path);
  fs::remove(root_ / "dev/nvidia0");
  fs::create_directories(root_ / "dev/nvidia0/odd");
  fs::remove(root_ / "proc/devices");
  fs::create_symlink("/etc/hostname", root_ / "proc/devices");
  fs::remove_all(root_ / "proc/driver/nvidia/gpus");
  put("proc/driver/nvidia/gpus");

  Sync(TwoGpus());
  for (const auto& path : foreign) EXPECT_EQ(Read(path), "mine");
  for (const auto& path : obsolete) EXPECT_FALSE(Exists(path)) << path;
  EXPECT_FALSE(S_ISDIR(Stat("dev/nvidia0").st_mode));
  EXPECT_TRUE(S_ISREG(Stat("proc/devices").st_mode));
  EXPECT_TRUE(Exists("proc/driver/nvidia/gpus/0000:07:00.0/information"));
}

TEST_F(Tree, FollowsNoLinksOutOfTheRoot) {
  const TempDir outside = TempDir::Create("tree-outside").value();
  ASSERT_TRUE(ReplaceFile(outside.path() / "nvidia0", "precious").has_value());
  fs::create_symlink(outside.path(), root_ / "dev");
  const auto refused = SyncTree(root_, TwoGpus());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr((root_ / "dev").string() + " is not a directory"));

  fs::remove(root_ / "dev");
  fs::create_directories(root_ / "dev");
  fs::create_symlink(outside.path(), root_ / "dev/nvidia-caps");  // Owned: the link goes, its target stays.
  fs::create_symlink(outside.path(), root_ / "dev/nvidia-old");
  Sync(TwoGpus());
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(root_ / "dev/nvidia-caps")));
  EXPECT_FALSE(Exists("dev/nvidia-old"));
  EXPECT_EQ(ReadFile(outside.path() / "nvidia0").value(), "precious");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside.path()), {}), 1);
}

TEST_F(Tree, RefusesTheMachinesOwnRoot) {
  for (const fs::path root : {"/", "//", "/tmp/..", "/proc/self/root"}) {
    EXPECT_EQ(SyncTree(root, TwoGpus()).error().code(), "BadRoot") << root;
    EXPECT_EQ(WriteTree(root, TwoGpus(), Options()).error().code(), "BadRoot") << root;
  }
}

TEST_F(Tree, RefusesNamesThatAreNoNames) {
  const std::map<std::string_view, std::function<void(Machine&)>> cases{
      {"bus id", [](Machine& m) { m.gpus[0].bus_id = "../../../etc"; }},
      {"upper case", [](Machine& m) { m.gpus[0].bus_id = "0000:AB:00.0"; }},
      {"root", [](Machine& m) { m.gpus[0].pcie_root = ".."; }},
      {"bridge", [](Machine& m) { m.gpus[0].bridges = {"a/b"}; }},
      {"version", [](Machine& m) { m.driver_version = "../1"; }},
      {"no version", [](Machine& m) { m.driver_version = ""; }},
      {"model", [](Machine& m) { m.gpus[0].model = "h100"; }},
      {"switch", [](Machine& m) { m.switches = {{"", "pci0000:c0", 0}}; }},
  };
  for (const auto& [name, spoil] : cases) {
    SCOPED_TRACE(name);
    Machine machine = TwoGpus();
    spoil(machine);
    EXPECT_EQ(SyncTree(root_, machine).error().code(), "BadMachine");
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST(PickMajors, PrefersTheUsualAndAvoidsTheUsed) {
  const TempDir dir = TempDir::Create("majors-test").value();
  struct Case {
    std::string_view name, text;
    Majors expected;
  };
  const Case cases[] = {
      {"nothing used", "Character devices:\n  1 mem\n\nBlock devices:\n195 odd\n", Majors{}},
      {"a real driver",
       "Character devices:\n127 mine\n195 nvidia\n195 nvidiactl\n238 nvidia-uvm\n\nBlock devices:\n126 sd\n",
       Majors{.nvidia = 126, .uvm = 125}},
      {"not the name", "Character devices:\n  5 /dev/195\nx y\n 241 ttyAMA\n", Majors{.caps = 127}},
      {"empty", "", Majors{}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(ReplaceFile(dir.path() / "devices", c.text).has_value());
    EXPECT_EQ(PickMajors(dir.path() / "devices"), c.expected);
  }
  EXPECT_EQ(PickMajors(dir.path() / "absent"), Majors{});
}

TEST(PickMajors, FindsNumbersOnACrowdedMachine) {
  const TempDir dir = TempDir::Create("majors-test").value();
  std::string text = "Character devices:\n";
  for (int major = 0; major < 512; ++major) text += Format("{:>3} x\n", major);
  ASSERT_TRUE(ReplaceFile(dir.path() / "devices", text).has_value());
  const Majors all{.nvidia = 512, .uvm = 513, .nvswitch = 514, .nvlink = 515, .caps = 516, .imex = 517};
  EXPECT_EQ(PickMajors(dir.path() / "devices"), all);
}

}  // namespace
}  // namespace tessera::sim
