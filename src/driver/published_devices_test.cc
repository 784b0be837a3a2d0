#include "driver/published_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PublishedDevices, ThatADevicePluginGaveAwayKeepClaimsOut) {
  const auto devices = PublishedDevices(
      TestSnapshot(),
      {{TestGpu(1).gpu.uuid, "ml/pod", "nvidia.com/gpu"}, {"MIG-2-7", "ml/pod", "nvidia.com/mig-1g.10gb"}}, {});
  std::vector<std::string> tainted;
  for (const api::Device& device : devices) {
    for (const api::Taint& taint : device.taints) tainted.push_back(device.name + " " + taint.key + ":" + taint.effect);
  }
  EXPECT_THAT(tainted, ElementsAre("gpu-1 gpu.nvidia.com/device-plugin:NoSchedule",
                                   "gpu-2-mig-1g10gb-19-0 gpu.nvidia.com/device-plugin:NoSchedule"));
}

TEST(PublishedDevices, ThatAClaimHoldsUnderAnotherNameAreLeftOut) {
  const auto held = [](std::string name, const device::Device& device) {
    return std::make_shared<const api::PreparedClaim>(api::PreparedClaim{
        .claim = {"ml", "a", "uid"}, .devices = {{.name = std::move(name), .hardware = HardwareOf(device)}}});
  };
  const auto count = [](const std::shared_ptr<const api::PreparedClaim>& claim) {
    return PublishedDevices(TestSnapshot(), {}, {claim}).size();
  };
  EXPECT_EQ(count(held("gpu-2-mig-19-0-1", TestMig(2, 7, 0, 1))), 3U);  // As v25.8.1 of the Go driver named it.
  EXPECT_EQ(count(held("gpu-2-mig-1g10gb-19-0", TestMig(2, 7, 0, 1))), 4U);
  EXPECT_EQ(count(held("gpu-0", TestGpu(0))), 4U);
}

TEST(PublishedDevices, ThatALocalRunHasKeepClaimsOut) {
  const auto run = std::make_shared<const api::PreparedClaim>(
      api::PreparedClaim{.claim = {"ml", "a", "uid"},
                         .devices = {{.name = "gpu-1", .hardware = HardwareOf(TestGpu(1))},
                                     {.name = "gpu-0", .admin_access = true, .hardware = HardwareOf(TestGpu(0))}},
                         .run = api::LocalRun{.pid = 7}});
  std::vector<std::string> tainted;
  for (const api::Device& device : PublishedDevices(TestSnapshot(), {}, {run})) {
    for (const api::Taint& taint : device.taints) tainted.push_back(device.name + " " + taint.key + ":" + taint.effect);
  }
  EXPECT_THAT(tainted, ElementsAre("gpu-1 gpu.nvidia.com/local-run:NoSchedule"));
}

TEST(Identify, FindsWhatAnOldCheckpointNamesByUuidOrName) {
  api::PreparedClaim claim{
      .claim = {"ml", "a", "uid"},
      .devices = {{.name = "gpu-2-mig-19-0-1", .hardware = {.mig = api::MigHardware{.uuid = "MIG-2-7"}}},
                  {.name = "gpu-1", .hardware = {}},
                  {.name = "gpu-77", .hardware = {}}}};
  const auto identified = Identify(claim, *TestState());
  ASSERT_TRUE(identified.has_value());
  EXPECT_EQ(identified->devices[0].hardware, HardwareOf(TestMig(2, 7, 0, 1)));
  EXPECT_EQ(identified->devices[1].hardware, HardwareOf(TestGpu(1)));
  EXPECT_TRUE(identified->devices[2].hardware.gpu_uuid.empty());
  claim.devices = {{.name = "gpu-77", .hardware = {}}};
  EXPECT_FALSE(Identify(claim, *TestState()).has_value());
}

}  // namespace
}  // namespace tessera::driver
