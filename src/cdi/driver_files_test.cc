// Driver roots made by hand: the odd ones. tests/cdi has whole simulated drivers.
#include "cdi/driver_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/text.h"
#include "cdi/driver_libraries.h"

namespace tessera::cdi {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kTriplet = std::string(kArchitecture) + "-linux-gnu";
const std::string kLib = "/usr/lib/" + kTriplet;

class DriverFilesTest : public ::testing::Test {
 protected:
  // Where to put something below the root. Stops where a link of the test's own would lead out of it, onto the machine.
  fs::path Place(const std::string& path) {
    fs::path place = roots_.driver;
    for (const fs::path& part : fs::path(path).relative_path().parent_path()) {
      place /= part;
      if (fs::is_symlink(fs::symlink_status(place))) Abort("the test writes through the link " + place.string());
    }
    fs::create_directories(place);
    return place / fs::path(path).filename();
  }
  void Put(const std::string& path, std::string_view content = "x", mode_t mode = 0644) {
    ASSERT_TRUE(ReplaceFile(Place(path), content, mode).has_value());
  }
  void Link(const std::string& path, const fs::path& target) { fs::create_symlink(target, Place(path)); }
  void Listen(const std::string& path) {
    const fs::path place = Place(path);
    const UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(place.string().size(), sizeof address.sun_path);
    place.string().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  DriverFiles Find(const std::string& version = {}) {
    auto files = FindDriverFiles(roots_, version);
    if (!files.has_value()) ADD_FAILURE() << files.error().Text();
    return files.value_or(DriverFiles{});
  }
  // The host's path of what the container sees at `path`.
  std::string HostPath(const DriverFiles& files, const std::string& path) {
    const auto spec = MakeBaseSpec(roots_, files, "/plugin/tessera-cdi-hook").value();
    for (const Mount& mount : spec.edits.mounts) {
      if (mount.container_path == path) return mount.host_path;
    }
    return "not mounted";
  }

  const TempDir dir_ = TempDir::Create("driver-files").value();
  Roots roots_{.driver = dir_.path() / "root",
               .driver_host = "/run/nvidia/driver",
               .dev = dir_.path() / "root",
               .dev_host = "/run/nvidia/driver",
               .sysfs = dir_.path() / "sys",
               .procfs = dir_.path() / "proc"};
};

TEST_F(DriverFilesTest, ADriverContainersLinksStayInsideItsRoot) {
  Put("/opt/driver/libcuda.so.570.158.01");
  Put(kLib + "/libnvidia-ml.so.570.158.01");
  Link(kLib + "/libcuda.so.570.158.01", "/opt/driver/libcuda.so.570.158.01");
  Link("/lib", "/usr/lib");
  Put("/usr/lib/nvidia/current/nvidia-smi", "#!", 0755);
  Link("/etc/alternatives/nvidia-smi", "/usr/lib/nvidia/current/nvidia-smi");
  Link("/usr/bin/nvidia-smi", "/etc/alternatives/nvidia-smi");
  Put("/usr/lib/firmware/nvidia/570.158.01/gsp_ga10x.bin");
  Put("/dev/nvidiactl", "");

  const DriverFiles files = Find();
  EXPECT_EQ(files.version, "570.158.01");
  EXPECT_THAT(files.directories, ElementsAre("/opt/driver", kLib));
  EXPECT_THAT(files.libraries, ElementsAre("/opt/driver/libcuda.so.570.158.01", kLib + "/libnvidia-ml.so.570.158.01"));
  EXPECT_THAT(files.control_nodes, ElementsAre("/dev/nvidiactl"));
  EXPECT_EQ(HostPath(files, "/opt/driver/libcuda.so.570.158.01"),
            "/run/nvidia/driver/opt/driver/libcuda.so.570.158.01");
  EXPECT_EQ(HostPath(files, "/usr/bin/nvidia-smi"), "/run/nvidia/driver/usr/lib/nvidia/current/nvidia-smi")
      << "seen where people call it, mounted from where it is";
  EXPECT_EQ(HostPath(files, "/lib/firmware/nvidia/570.158.01/gsp_ga10x.bin"),
            "/run/nvidia/driver/usr/lib/firmware/nvidia/570.158.01/gsp_ga10x.bin");
  const auto spec = MakeBaseSpec(roots_, files, "/plugin/tessera-cdi-hook").value();
  EXPECT_EQ(spec.edits.device_nodes,
            std::vector{(DeviceNode{.path = "/dev/nvidiactl", .host_path = "/run/nvidia/driver/dev/nvidiactl"})});
}

TEST_F(DriverFilesTest, NothingIsFollowedOutOfTheRoot) {
  const fs::path outside = dir_.path() / "outside";
  fs::create_directories(outside);
  for (const char* name : {"libcuda.so.570.158.01", "libsecret.so.570.158.01", "nvidia-smi", "gsp_a.bin"}) {
    ASSERT_TRUE(ReplaceFile(outside / name, "secret", 0755).has_value());
  }
  Put(kLib + "/libcuda.so.570.158.01");
  Link(kLib + "/libsecret.so.570.158.01", outside / "libsecret.so.570.158.01");
  Link(kLib + "/libdotdot.so.570.158.01", "../../../../outside/libsecret.so.570.158.01");
  Link(kLib + "/vdpau", outside);
  Link("/usr/lib64", outside);
  Link("/usr/bin/nvidia-smi", outside / "nvidia-smi");
  Link("/lib/firmware/nvidia/570.158.01", outside);
  Link("/dev/nvidiactl", "/dev/null");

  const DriverFiles files = Find("570.158.01");
  EXPECT_THAT(files.libraries, ElementsAre(kLib + "/libcuda.so.570.158.01"));
  EXPECT_THAT(files.binaries, IsEmpty());
  EXPECT_THAT(files.firmware, IsEmpty());
  EXPECT_THAT(files.control_nodes, IsEmpty()) << "the link means /dev/null of this root, which has none";
}

TEST_F(DriverFilesTest, ARootWithoutDevUsesTheHostsNodes) {
  fs::create_directories(roots_.driver);
  EXPECT_EQ(DevRoot(roots_.driver), "/");
  fs::create_directories(roots_.driver / "dev");
  EXPECT_EQ(DevRoot(roots_.driver), roots_.driver);

  // A bundle in a folder, as on GKE: nodes have no host path of their own then.
  roots_.dev = dir_.path() / "host";
  roots_.dev_host = "/";
  roots_.driver_host = "/home/kubernetes/bin/nvidia";
  fs::create_directories(roots_.dev / "dev");
  ASSERT_TRUE(ReplaceFile(roots_.dev / "dev/nvidia-uvm", "").has_value());
  Put("/lib64/libcuda.so.570.158.01");
  Put("/vulkan/icd.d/nvidia_icd.json");
  const DriverFiles files = Find();
  EXPECT_EQ(HostPath(files, "/lib64/libcuda.so.570.158.01"), "/home/kubernetes/bin/nvidia/lib64/libcuda.so.570.158.01");
  EXPECT_EQ(HostPath(files, "/etc/vulkan/icd.d/nvidia_icd.json"),
            "/home/kubernetes/bin/nvidia/vulkan/icd.d/nvidia_icd.json");
  const auto spec = MakeBaseSpec(roots_, files, "/plugin/hook").value();
  EXPECT_EQ(spec.edits.device_nodes, std::vector{DeviceNode{.path = "/dev/nvidia-uvm"}});
  EXPECT_EQ(MinimumVersion(spec), "0.3.0");
}

TEST_F(DriverFilesTest, TheVersionIsWhatTheLinkLeadsTo) {
  Put(kLib + "/libcuda.so.550.54.14");
  Put(kLib + "/libcuda.so.580.159.04");
  EXPECT_EQ(Find().version, "580.159.04");
  Link(kLib + "/libcuda.so.1", "libcuda.so.550.54.14");
  EXPECT_EQ(Find().version, "550.54.14") << "the newer one is what an interrupted upgrade left";
  EXPECT_THAT(Find("580.159.04").libraries, ElementsAre(kLib + "/libcuda.so.580.159.04")) << "NVML knows best";
}

// A loader's cache with one entry, as ldconfig writes it.
std::string CacheWith(std::string_view name, std::string_view path) {
  constexpr std::size_t kHeader = 48, kEntry = 24;
  const std::uint32_t flags = kArchitecture == "aarch64" ? 0x0A03 : 0x0303;
  const auto name_at = static_cast<std::uint32_t>(kHeader + kEntry);
  const auto path_at = name_at + static_cast<std::uint32_t>(name.size()) + 1;
  std::string cache = "glibc-ld.so.cache1.1";
  const auto append = [&](std::uint32_t value) { cache.append(reinterpret_cast<const char*>(&value), 4); };
  append(1);
  cache.resize(kHeader);
  for (const std::uint32_t value : {flags, name_at, path_at}) append(value);
  cache.resize(kHeader + kEntry);
  return cache.append(name).append(1, '\0').append(path).append(1, '\0');
}

TEST_F(DriverFilesTest, LibrariesInUnusualPlacesAreFoundThroughTheLoadersCache) {
  Put("/opt/nvidia/lib/libcuda.so.570.158.01");
  Put("/opt/nvidia/lib/libnvidia-ml.so.570.158.01");
  Link("/opt/links/libcuda.so.1", "/opt/nvidia/lib/libcuda.so.570.158.01");
  EXPECT_FALSE(FindDriverFiles(roots_, "").has_value());
  Put("/etc/ld.so.cache", CacheWith("libcuda.so.1", "/opt/links/libcuda.so.1"));
  const DriverFiles files = Find();
  EXPECT_EQ(files.version, "570.158.01");
  EXPECT_THAT(files.directories, ElementsAre("/opt/nvidia/lib"));
  EXPECT_THAT(files.libraries,
              ElementsAre("/opt/nvidia/lib/libcuda.so.570.158.01", "/opt/nvidia/lib/libnvidia-ml.so.570.158.01"));

  Put("/usr/lib/libcuda.so.570.158.01");
  EXPECT_THAT(Find().directories, ElementsAre("/opt/nvidia/lib")) << "/usr/lib may hold 32-bit libraries: last";
  Put("/etc/ld.so.cache", "damaged");
  EXPECT_THAT(Find().directories, ElementsAre("/usr/lib"));
}

TEST_F(DriverFilesTest, AnErrorSaysWhatTheRootLacks) {
  struct Case {
    std::string_view name, version, code, message, advice;
  };
  fs::create_directories(roots_.driver);
  const auto check = [&](const Case& c) {
    SCOPED_TRACE(c.name);
    const auto files = FindDriverFiles(roots_, std::string(c.version));
    ASSERT_FALSE(files.has_value());
    EXPECT_EQ(files.error().kind(), ErrorKind::kPermanentDevice);
    EXPECT_EQ(files.error().code(), c.code);
    EXPECT_THAT(files.error().message(), HasSubstr(c.message));
    EXPECT_THAT(files.error().advice(), HasSubstr(c.advice));
  };
  check({"empty", "", "DriverFilesMissing", "no NVIDIA driver libraries (libcuda.so.*) below " + roots_.driver.string(),
         "--nvidia-driver-root"});
  Put(kLib + "/libcuda.so.*.*");
  Put(kLib + "/libcuda.so.1");
  check({"no version", "", "DriverFilesMissing", "no NVIDIA driver libraries", "--nvidia-driver-root"});
  Put(kLib + "/libcuda.so.550.54.14");
  check({"another version", "580.159.04", "DriverFilesMissing",
         "no libraries of NVIDIA driver 580.159.04 below " + roots_.driver.string() +
             "; the libraries there are of version 550.54.14",
         "reboot"});
  check({"a path as version", "../580.1", "BadDriverVersion", "\"../580.1\"", "form"});
  roots_.driver = dir_.path() / "absent";
  check({"no root", "", "DriverFilesMissing", (dir_.path() / "absent").string(), "--nvidia-driver-root"});
}

TEST_F(DriverFilesTest, LibrariesOfOtherVersionsAreLeftOut) {
  for (const char* name : {"libcuda.so.580.1.2", "libcuda.so.570.1", "libnvidia-nvvm70.so.4", "libcuda.so", "libc.so.6",
                           "libnvidia-egl-gbm.so.1.1.2", "libnvidia-egl-gbm.so.1", "vdpau/libvdpau_nvidia.so.580.1.2",
                           "vdpau/libvdpau_nvidia.so.570.1", "tls/libx.so.580.1.2"}) {
    Put(kLib + "/" + name);
  }
  EXPECT_THAT(Find("580.1.2").libraries,
              ElementsAre(kLib + "/libcuda.so.580.1.2", kLib + "/libnvidia-egl-gbm.so.1.1.2",
                          kLib + "/libnvidia-nvvm70.so.4", kLib + "/vdpau/libvdpau_nvidia.so.580.1.2"));
}

TEST_F(DriverFilesTest, GraphicsFilesGoToTheirFixedPlaces) {
  Put(kLib + "/nvidia/current/libcuda.so.580.1.2");
  Put(kLib + "/nvidia/current/libnvidia-allocator.so.580.1.2");
  Put(kLib + "/libnvidia-egl-wayland.so.1.1.19");
  Put("/usr/lib/xorg/modules/drivers/nvidia_drv.so");
  Put("/usr/lib64/xorg/modules/drivers/nvidia_drv.so");
  Put("/usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so.580.1.2");
  Put("/usr/local/share/glvnd/egl_vendor.d/10_nvidia.json");
  Put("/usr/share/vulkan/icd.d/nvidia_icd." + std::string(kArchitecture) + ".json");
  Put("/etc/X11/xorg.conf.d/10-nvidia.conf");

  const DriverFiles files = Find();
  EXPECT_THAT(files.directories, ElementsAre(kLib, kLib + "/nvidia/current"));
  EXPECT_THAT(files.libraries, Contains("/usr/lib/xorg/modules/drivers/nvidia_drv.so"));
  EXPECT_THAT(files.libraries, Not(Contains("/usr/lib64/xorg/modules/drivers/nvidia_drv.so")));
  EXPECT_THAT(files.configs,
              ElementsAre("/etc/vulkan/icd.d/nvidia_icd." + std::string(kArchitecture) + ".json",
                          "/usr/share/X11/xorg.conf.d/10-nvidia.conf", "/usr/share/glvnd/egl_vendor.d/10_nvidia.json"));
  EXPECT_EQ(HostPath(files, "/usr/share/X11/xorg.conf.d/10-nvidia.conf"),
            "/run/nvidia/driver/etc/X11/xorg.conf.d/10-nvidia.conf");
  std::vector<std::string> links;
  for (const auto& link : files.links) links.push_back(link.target + "::" + link.path);
  EXPECT_THAT(links, ElementsAre("../libnvidia-allocator.so.1::" + kLib + "/nvidia/current/gbm/nvidia-drm_gbm.so",
                                 "libcuda.so.1::" + kLib + "/nvidia/current/libcuda.so",
                                 "libglxserver_nvidia.so.580.1.2::/usr/lib64/xorg/modules/extensions/"
                                 "libglxserver_nvidia.so"))
      << "in the order of their places";
}

TEST_F(DriverFilesTest, FirmwareIsWhereTheKernelLooks) {
  Put(kLib + "/libcuda.so.580.1.2");
  Put("/lib/firmware/nvidia/580.1.2/gsp_tu10x.bin");
  Put("/lib/firmware/nvidia/580.1.2/README");
  EXPECT_THAT(Find().firmware, ElementsAre("/lib/firmware/nvidia/580.1.2/gsp_tu10x.bin"));

  // The driver container's setting, as the host sees it.
  fs::create_directories(roots_.sysfs / "module/firmware_class/parameters");
  ASSERT_TRUE(
      ReplaceFile(roots_.sysfs / "module/firmware_class/parameters/path", "/run/nvidia/driver/opt/fw/\n").has_value());
  Put("/opt/fw/nvidia/580.1.2/gsp_ga10x.bin");
  EXPECT_THAT(Find().firmware, ElementsAre("/opt/fw/nvidia/580.1.2/gsp_ga10x.bin"));
}

TEST_F(DriverFilesTest, OnlySocketsAreSocketsAndMpsIsLeftOut) {
  Put(kLib + "/libcuda.so.580.1.2");
  Listen("/run/nvidia-persistenced/socket");
  Put("/run/nvidia-fabricmanager/socket");
  Link("/var/run", "/run");
  fs::create_directories(roots_.driver / "tmp/nvidia-mps");
  EXPECT_THAT(Find().sockets, ElementsAre("/run/nvidia-persistenced/socket"));
}

TEST_F(DriverFilesTest, ProgramsMustBeExecutable) {
  Put(kLib + "/libcuda.so.580.1.2");
  Put("/usr/local/bin/nvidia-smi", "not a program", 0644);
  Put("/usr/bin/nvidia-smi", "#!", 0755);
  Put("/usr/bin/nvidia-settings", "#!", 0755);
  EXPECT_THAT(Find().binaries, ElementsAre("/usr/bin/nvidia-smi"));
}

TEST_F(DriverFilesTest, TheFingerprintFollowsTheDriver) {
  Put(kLib + "/libcuda.so.570.158.01");
  Put("/usr/bin/nvidia-smi", "#!", 0755);
  const DriverFiles files = Find();
  EXPECT_EQ(Fingerprint(roots_, files), files.fingerprint);
  EXPECT_EQ(Find().fingerprint, files.fingerprint) << "nothing changed";

  std::string last = files.fingerprint;
  const auto changes = [&](std::string_view what, const auto& change) {
    change();
    const std::string now = Fingerprint(roots_, files);
    EXPECT_NE(now, last) << what;
    last = now;
  };
  changes("a library came", [&] { Put(kLib + "/libnvidia-ml.so.570.158.01"); });
  changes("a library was replaced", [&] { Put(kLib + "/libcuda.so.570.158.01", "new"); });
  changes("written in place", [&] {
    const UniqueFd file{::open((roots_.driver / "usr/bin/nvidia-smi").c_str(), O_WRONLY | O_APPEND)};
    ASSERT_TRUE(WriteAll(file.get(), "more").has_value());
  });
  changes("the kernel module made its nodes", [&] { Put("/dev/nvidia-uvm", ""); });
  changes("a library folder came", [&] { Put("/usr/lib64/libcuda.so.580.159.04"); });
  changes("a socket came", [&] { Listen("/run/nvidia-persistenced/socket"); });
  changes("a config came", [&] { Put("/etc/vulkan/icd.d/nvidia_icd.json"); });
  changes("the old driver went", [&] { fs::remove(roots_.driver / kLib.substr(1) / "libcuda.so.570.158.01"); });
  EXPECT_EQ(Find().version, "580.159.04");
  changes("everything went", [&] { fs::remove_all(roots_.driver); });
}

TEST_F(DriverFilesTest, TheBaseSpecSaysVoidOnceAndHooksInOrder) {
  Put(kLib + "/libcuda.so.580.1.2");
  const auto spec = MakeBaseSpec(roots_, Find(), "/plugins/gpu.nvidia.com/tessera-cdi-hook").value();
  EXPECT_EQ(spec.kind, "k8s.gpu.nvidia.com/base");
  ASSERT_EQ(spec.devices.size(), 1U);
  EXPECT_EQ(spec.devices[0], (Device{"driver", Edits{.env = {"NVIDIA_VISIBLE_DEVICES=void"}}}));
  EXPECT_THAT(spec.edits.env, ElementsAre("NVIDIA_CTK_LIBCUDA_DIR=" + kLib));
  std::vector<std::string> commands;
  for (const Hook& hook : spec.edits.hooks) {
    EXPECT_EQ(hook.name, "createContainer");
    EXPECT_EQ(hook.path, "/plugins/gpu.nvidia.com/tessera-cdi-hook");
    EXPECT_EQ(hook.args.at(0), "tessera-cdi-hook");
    EXPECT_THAT(hook.env, ElementsAre("NVIDIA_CTK_DEBUG=false"));
    commands.push_back(hook.args.at(1));
  }
  EXPECT_THAT(commands, ElementsAre("create-symlinks", "enable-cuda-compat", "update-ldcache",
                                    "disable-device-node-modification", "update-application-profile"));
  EXPECT_THAT(spec.edits.hooks[1].args, Contains("--host-driver-version=580.1.2"));
  EXPECT_THAT(spec.edits.hooks[2].args, ElementsAre("tessera-cdi-hook", "update-ldcache", "--folder", kLib));
}

}  // namespace
}  // namespace tessera::cdi
