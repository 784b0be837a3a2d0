// The specs of simulated machines, as container runtimes read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "cdi/claim_spec.h"
#include "cdi/driver_files.h"
#include "cdi/writer.h"
#include "tests/support/golden.h"
#include "tests/support/sim_root.h"

namespace tessera::tests {
namespace {

using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kHook = "/var/lib/kubelet/plugins/gpu.nvidia.com/tessera-cdi-hook";
constexpr const char* kUid = "3f6c1d2e-8a41-4a57-9d0b-5f2e7c1b9a10";

cdi::Roots RootsOf(const SimRoot& root, const std::string& host) {
  return {.driver = root.path(),
          .driver_host = host,
          .dev = root.path(),
          .dev_host = host,
          .sysfs = root.sysfs(),
          .procfs = root.path() / "proc"};
}

// Majors are picked so that they are free on this machine, and where mknod(2) is not permitted the nodes are plain files.
// What remains is the same everywhere.
void Normalize(cdi::Edits& edits, const sim::Majors& majors) {
  for (cdi::DeviceNode& node : edits.device_nodes) {
    if (node.type == "c") {
      EXPECT_EQ(node.major, majors.caps);
      node.major = 241;
    } else {
      EXPECT_EQ(node.major.has_value(), node.minor.has_value());
      EXPECT_EQ(node.file_mode.value_or(0666), 0666U);
      node.major = node.minor = std::nullopt;
      node.file_mode = std::nullopt;
      node.permissions.clear();
    }
  }
}

std::string Text(cdi::Spec spec, const sim::Majors& majors) {
  Normalize(spec.edits, majors);
  for (cdi::Device& device : spec.devices) Normalize(device.edits, majors);
  std::string text = cdi::Print(spec);
  for (std::size_t at; (at = text.find("aarch64-linux-gnu")) != std::string::npos;) text.replace(at, 7, "x86_64");
  return text;
}

struct Driver {
  const char* profile;
  const char* host;
};

class DriverSpecTest : public ::testing::TestWithParam<Driver> {};

TEST_P(DriverSpecTest, TheBaseSpecIsGolden) {
  sim::Majors majors;
  const SimRoot root(GetParam().profile, [&](sim::Machine& machine) { majors = machine.majors; });
  const cdi::Roots roots = RootsOf(root, GetParam().host);
  const auto files = cdi::FindDriverFiles(roots, {});
  ASSERT_TRUE(files.has_value()) << files.error().Text();
  const auto spec = cdi::MakeBaseSpec(roots, *files, kHook);
  ASSERT_TRUE(spec.has_value()) << spec.error().Text();
  EXPECT_TRUE(MatchesGolden(Text(*spec, majors), Format("cdi/base-{}.yaml", GetParam().profile)));
  EXPECT_EQ(cdi::Parse(cdi::Print(*spec)).value(), *spec);
}

INSTANTIATE_TEST_SUITE_P(All, DriverSpecTest,
                         ::testing::Values(Driver{"dgx-h100", "/"}, Driver{"l4", "/run/nvidia/driver"}),
                         [](const auto& test) { return test.index == 0 ? "Host" : "DriverContainer"; });

TEST(DriverSpec, EveryProfileHasOne) {
  for (const std::string& profile : ProfileNames()) {
    SCOPED_TRACE(profile);
    const SimRoot root(profile);
    const cdi::Roots roots = RootsOf(root, "/");
    const auto files = cdi::FindDriverFiles(roots, {});
    ASSERT_TRUE(files.has_value()) << files.error().Text();
    EXPECT_THAT(files->control_nodes, SizeIs(4));
    EXPECT_THAT(files->libraries, Not(SizeIs(0)));
    EXPECT_TRUE(cdi::MakeBaseSpec(roots, *files, kHook).has_value());
  }
}

TEST(ClaimSpec, TwoGpusAreGolden) {
  sim::Machine machine;
  const SimRoot root("dgx-h100", [&](sim::Machine& made) { machine = made; });
  api::PreparedClaim claim{.claim = {"default", "pair", kUid}};
  for (const unsigned index : {0U, 3U}) {
    const sim::Gpu& gpu = machine.gpus.at(index);
    api::PreparedDevice device;
    device.name = Format("gpu-{}", index);
    device.hardware = {.gpu_uuid = gpu.uuid, .bus_id = gpu.bus_id, .gpu_minor = gpu.minor};
    claim.devices.push_back(device);
  }
  const auto spec = cdi::MakeClaimSpec(RootsOf(root, "/"), {}, claim);
  ASSERT_TRUE(spec.has_value()) << spec.error().Text();
  EXPECT_TRUE(MatchesGolden(Text(*spec, machine.majors), "cdi/claim-two-gpus.yaml"));
}

TEST(ClaimSpec, EveryMigDeviceOfAMachineIsGolden) {
  sim::Machine machine;
  const SimRoot root("dgx-a100-mig", [&](sim::Machine& made) { machine = made; });
  api::PreparedClaim claim{.claim = {"default", "slices", kUid}};
  for (const sim::Gpu& gpu : machine.gpus) {
    for (const sim::GpuInstance& instance : gpu.instances) {
      for (const sim::ComputeInstance& compute : instance.compute) {
        api::PreparedDevice device;
        device.name = Format("gpu-{}-mig-{}-{}", gpu.minor, instance.id, compute.id);
        device.hardware = {.gpu_uuid = gpu.uuid, .bus_id = gpu.bus_id, .gpu_minor = gpu.minor};
        device.hardware.mig = {.uuid = compute.uuid, .gpu_instance = instance.id, .compute_instance = compute.id};
        claim.devices.push_back(device);
      }
    }
  }
  const auto spec = cdi::MakeClaimSpec(RootsOf(root, "/run/nvidia/driver"), {}, claim);
  ASSERT_TRUE(spec.has_value()) << spec.error().Text();
  EXPECT_TRUE(MatchesGolden(Text(*spec, machine.majors), "cdi/claim-mig.yaml"));
}

TEST(ClaimSpec, AnUnpluggedGpuIsNamed) {
  const SimRoot root("l4", [](sim::Machine& machine) { machine.gpus.at(0).present = false; });
  api::PreparedDevice device;
  device.name = "gpu-0";
  device.hardware.gpu_minor = 0;
  const auto spec = cdi::MakeClaimSpec(RootsOf(root, "/"), {}, {.claim = {"default", "a", kUid}, .devices = {device}});
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().code(), "DeviceNodeMissing");
}

}  // namespace
}  // namespace tessera::tests
