#include "cdi/claim_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "cdi/nodes.h"

namespace tessera::cdi {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kHook = "/plugins/gpu.nvidia.com/tessera-cdi-hook";

api::PreparedDevice Gpu(unsigned minor) {
  api::PreparedDevice device;
  device.name = "gpu-" + std::to_string(minor);
  device.hardware = {.gpu_uuid = "GPU-1", .bus_id = "0000:3b:00.0", .gpu_minor = minor};
  return device;
}

api::PreparedDevice Mig(const std::string& profile) {
  api::PreparedDevice device = Gpu(3);
  device.name = "gpu-3-mig-1g5gb-19-2";
  device.hardware.mig = {.uuid = "MIG-1", .gpu_instance = 9, .compute_instance = 0, .profile = profile};
  return device;
}

api::PreparedClaim Claim(std::vector<api::PreparedDevice> devices) {
  return {.claim = {"default", "a", "b81f0a52-0c1e-4d0a-8f6e-2f5f0b7f3c44"}, .devices = std::move(devices)};
}

// Nodes are plain files here, as where mknod(2) is not permitted; what stat(2) adds is tested on the machine's own.
class ClaimSpecTest : public ::testing::Test {
 protected:
  void Put(const std::string& path, std::string_view content = "") {
    fs::create_directories((dir_.path() / path).parent_path());
    ASSERT_TRUE(ReplaceFile(dir_.path() / path, content).has_value());
  }
  void PutDrm() {
    for (const char* name : {"card1", "renderD128", "controlD65", "by-path"}) {
      fs::create_directories(roots_.sysfs / "devices/pci0000:3a/0000:3b:00.0/drm" / name);
    }
    fs::create_directories(roots_.sysfs / "bus/pci/devices");
    fs::create_symlink("../../../devices/pci0000:3a/0000:3b:00.0", roots_.sysfs / "bus/pci/devices/0000:3b:00.0");
    for (const char* name : {"card0", "card1", "renderD128", "controlD65"}) Put(std::string("dev/dri/") + name);
    fs::create_directories(roots_.dev / "dev/dri/by-path");
    fs::create_symlink("../card1", roots_.dev / "dev/dri/by-path/pci-0000:3b:00.0-card");
    fs::create_symlink("../renderD129", roots_.dev / "dev/dri/by-path/pci-0000:3b:00.0-render");
  }
  void PutCapabilities() {
    Put("proc/devices",
        "Character devices:\n195 nvidia\n241 nvidia-caps\n242 nvidia-caps-imex-channels\n\n"
        "Block devices:\n  8 nvidia-caps\n");
    Put("proc/driver/nvidia/capabilities/gpu3/mig/gi9/access",
        "DeviceFileMinor: 489\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
    Put("proc/driver/nvidia/capabilities/gpu3/mig/gi9/ci0/access",
        "DeviceFileMinor: 490\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  }
  Result<Spec> Make(const api::PreparedClaim& claim) const {
    Graphics graphics;
    for (const api::PreparedDevice& device : claim.devices) {
      const std::string& bus_id = device.hardware.bus_id;
      graphics.emplace(bus_id, FindGraphics(roots_, kHook, bus_id));
    }
    return MakeClaimSpec(roots_, graphics, claim);
  }
  std::vector<std::string> Paths(const Spec& spec) {
    std::vector<std::string> paths;
    for (const Device& device : spec.devices) {
      for (const DeviceNode& node : device.edits.device_nodes) paths.push_back(node.path);
    }
    return paths;
  }

  const TempDir dir_ = TempDir::Create("claim-spec-test").value();
  Roots roots_{.driver = dir_.path(),
               .driver_host = "/run/nvidia/driver",
               .dev = dir_.path(),
               .dev_host = "/run/nvidia/driver",
               .sysfs = dir_.path() / "sys",
               .procfs = dir_.path() / "proc"};
};

TEST_F(ClaimSpecTest, AGpuIsItsNode) {
  Put("dev/nvidia3");
  api::PreparedDevice admin = Gpu(3);
  admin.admin_access = true;
  for (const api::PreparedDevice& device : {Gpu(3), admin}) {
    const auto spec = Make(Claim({device}));
    ASSERT_TRUE(spec.has_value()) << spec.error().Text();
    EXPECT_EQ(spec->kind, "k8s.gpu.nvidia.com/claim");
    EXPECT_TRUE(spec->edits.empty());
    ASSERT_EQ(spec->devices.size(), 1U);
    EXPECT_EQ(spec->devices[0].name, "b81f0a52-0c1e-4d0a-8f6e-2f5f0b7f3c44-gpu-3");
    EXPECT_EQ(spec->devices[0].edits,
              (Edits{.device_nodes = {{.path = "/dev/nvidia3", .host_path = "/run/nvidia/driver/dev/nvidia3"}}}));
  }
}

TEST_F(ClaimSpecTest, NodesAreDescribedAsTheHostHasThem) {
  Edits edits;
  roots_.dev = roots_.dev_host = "/";
  struct stat status{};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  ASSERT_TRUE(S_ISCHR(status.st_mode));
  status.st_mode = S_IFCHR | 0666;  // Containers differ here.
  status.st_gid = 0;
  AddNode(roots_, "/dev/null", status, edits);
  EXPECT_EQ(edits,
            (Edits{.device_nodes = {
                       {.path = "/dev/null", .major = 1, .minor = 3, .file_mode = 0666, .permissions = "rwm"}}}));
}

TEST_F(ClaimSpecTest, AGroupThatANodeNeedsIsGiven) {
  struct Case {
    mode_t mode;
    gid_t gid;
    std::vector<std::uint32_t> additional;
  };
  const Case cases[] = {{0666, 0, {}}, {0660, 0, {}}, {0666, 44, {}}, {0660, 44, {44}}, {0664, 44, {44}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.mode);
    struct stat status{};
    status.st_mode = S_IFCHR | c.mode;
    status.st_gid = c.gid;
    Edits edits;
    AddNode(roots_, "/dev/x", status, edits);
    AddNode(roots_, "/dev/y", status, edits);
    EXPECT_EQ(edits.additional_gids, c.additional) << "once";
    EXPECT_EQ(edits.device_nodes[0].gid.value_or(0), c.gid);
    EXPECT_EQ(edits.device_nodes[0].file_mode, c.mode);
  }
}

TEST_F(ClaimSpecTest, DrmNodesComeWithTheirNamesByPath) {
  Put("dev/nvidia3");
  PutDrm();
  const auto spec = Make(Claim({Gpu(3)}));
  ASSERT_TRUE(spec.has_value()) << spec.error().Text();
  EXPECT_THAT(Paths(*spec), ElementsAre("/dev/nvidia3", "/dev/dri/card1", "/dev/dri/renderD128"));
  ASSERT_EQ(spec->devices[0].edits.hooks.size(), 1U);
  EXPECT_THAT(spec->devices[0].edits.hooks[0].args, ElementsAre("tessera-cdi-hook", "create-symlinks", "--link",
                                                                "../card1::/dev/dri/by-path/pci-0000:3b:00.0-card"))
      << "the other link leads to a node of another GPU";
}

TEST_F(ClaimSpecTest, ABusIdIsNoPath) {
  Put("dev/nvidia3");
  PutDrm();
  for (const char* bus_id : {"", "..", "../../../bus/pci/devices/0000:3b:00.0"}) {
    api::PreparedDevice device = Gpu(3);
    device.hardware.bus_id = bus_id;
    EXPECT_THAT(Paths(Make(Claim({device})).value()), ElementsAre("/dev/nvidia3")) << bus_id;
  }
}

TEST_F(ClaimSpecTest, AMigDeviceIsItsParentAndTwoRights) {
  Put("dev/nvidia3");
  PutDrm();
  PutCapabilities();
  const auto spec = Make(Claim({Mig("1g.5gb")}));
  ASSERT_TRUE(spec.has_value()) << spec.error().Text();
  const Edits expected{
      .device_nodes = {
          {.path = "/dev/nvidia3", .host_path = "/run/nvidia/driver/dev/nvidia3"},
          {.path = "/dev/nvidia-caps/nvidia-cap489", .type = "c", .major = 241, .minor = 489, .file_mode = 0444},
          {.path = "/dev/nvidia-caps/nvidia-cap490", .type = "c", .major = 241, .minor = 490, .file_mode = 0444}}};
  EXPECT_EQ(spec->devices[0].edits, expected);

  const auto graphics = Make(Claim({Mig("1g.24gb+gfx")}));
  EXPECT_THAT(Paths(*graphics), ElementsAre("/dev/nvidia3", "/dev/dri/card1", "/dev/dri/renderD128",
                                            "/dev/nvidia-caps/nvidia-cap489", "/dev/nvidia-caps/nvidia-cap490"));
}

TEST_F(ClaimSpecTest, ErrorsNameTheDeviceAndWhatIsMissing) {
  const auto error = [&](const api::PreparedDevice& device) {
    const auto spec = Make(Claim({device}));
    EXPECT_FALSE(spec.has_value());
    return spec.has_value() ? Error(ErrorKind::kTransient, "None", "") : spec.error();
  };
  const Error no_node = error(Gpu(3));
  EXPECT_EQ(no_node.code(), "DeviceNodeMissing");
  EXPECT_EQ(no_node.kind(), ErrorKind::kPermanentDevice);
  EXPECT_EQ(no_node.message(), "gpu-3 needs /dev/nvidia3, which is not below " + dir_.path().string());
  EXPECT_THAT(no_node.advice(), HasSubstr("nvidia-modprobe -c 3"));

  Put("dev/nvidia3");
  api::PreparedDevice unknown = Gpu(3);
  unknown.hardware.gpu_minor.reset();
  EXPECT_EQ(error(unknown).code(), "DeviceMinorUnknown");

  EXPECT_THAT(error(Mig("1g.5gb")).message(), HasSubstr("nvidia-caps, which"));
  PutCapabilities();
  fs::remove(roots_.procfs / "driver/nvidia/capabilities/gpu3/mig/gi9/ci0/access");
  const Error no_right = error(Mig("1g.5gb"));
  EXPECT_EQ(no_right.code(), "MigCapabilityMissing");
  EXPECT_THAT(no_right.message(), HasSubstr("gi9/ci0/access, which cannot be read"));
  Put("proc/driver/nvidia/capabilities/gpu3/mig/gi9/ci0/access", "DeviceFileMinor: x\n");
  EXPECT_THAT(error(Mig("1g.5gb")).message(), HasSubstr("gi9/ci0/access, which has no minor and mode"));

  roots_.dev = dir_.path() / "absent";
  EXPECT_EQ(error(Gpu(3)).code(), "DeviceNodeMissing");
}

TEST_F(ClaimSpecTest, EachShareHasANameOfItsOwnAndARepeatedDeviceOne) {
  Put("dev/nvidia3");
  api::PreparedDevice first = Gpu(3), second = Gpu(3);
  first.share_id = "6a9f0c52-91f5-4b1d-8c8e-1f0d6f6f0001";
  second.share_id = "6a9f0c52-91f5-4b1d-8c8e-1f0d6f6f0002";
  const auto spec = Make(Claim({Gpu(3), first, second, Gpu(3)}));
  ASSERT_TRUE(spec.has_value()) << spec.error().Text();
  std::vector<std::string> names;
  for (const Device& device : spec->devices) names.push_back(device.name);
  EXPECT_THAT(names, ElementsAre("b81f0a52-0c1e-4d0a-8f6e-2f5f0b7f3c44-gpu-3",
                                 "b81f0a52-0c1e-4d0a-8f6e-2f5f0b7f3c44-gpu-3-6a9f0c52-91f5-4b1d-8c8e-1f0d6f6f0001",
                                 "b81f0a52-0c1e-4d0a-8f6e-2f5f0b7f3c44-gpu-3-6a9f0c52-91f5-4b1d-8c8e-1f0d6f6f0002"));
}

TEST_F(ClaimSpecTest, AClaimWithoutDevicesHasNoSpec) { EXPECT_EQ(Make(Claim({})).error().code(), "BadCdiSpec"); }

TEST(CdiIds, TheClaimsOwnComesFirst) {
  EXPECT_THAT(CdiIds({"default", "a", "uid-1"}, Gpu(0)),
              ElementsAre("k8s.gpu.nvidia.com/claim=uid-1-gpu-0", "k8s.gpu.nvidia.com/base=driver"));
}

}  // namespace
}  // namespace tessera::cdi
