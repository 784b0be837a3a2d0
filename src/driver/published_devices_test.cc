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
      {{TestGpu(1).gpu.uuid, "ml/pod", "nvidia.com/gpu"}, {"MIG-2-7", "ml/pod", "nvidia.com/mig-1g.10gb"}}, {}, {});
  std::vector<std::string> tainted;
  for (const api::Device& device : devices) {
    for (const api::Taint& taint : device.taints) tainted.push_back(device.name + " " + taint.key + ":" + taint.effect);
  }
  EXPECT_THAT(tainted, ElementsAre("gpu-1 gpu.nvidia.com/device-plugin:NoSchedule",
                                   "gpu-2-mig-1g10gb-19-0 gpu.nvidia.com/device-plugin:NoSchedule"));
}

TEST(PublishedDevices, CarryTheTaintsOfTheirHealthTheStrongestOfThem) {
  const std::vector<api::Taint> many{
      {"a", "", "NoExecute"}, {"b", "", "NoSchedule"}, {"c", "", "NoSchedule"}, {"d", "", "None"}};
  const auto devices = PublishedDevices(TestSnapshot(), {{TestGpu(1).gpu.uuid, "ml/pod", "nvidia.com/gpu"}}, {},
                                        {{.device = "gpu-0", .taints = {{"a", "79", "NoSchedule"}}},
                                         {.device = "gpu-1", .taints = many},
                                         {.device = "gpu-77", .taints = many}});
  ASSERT_EQ(devices.size(), 4U);
  EXPECT_THAT(devices[0].taints, ElementsAre(api::Taint{"a", "79", "NoSchedule"}));
  std::vector<std::string> keys;
  for (const api::Taint& taint : devices[1].taints) keys.push_back(taint.key);
  EXPECT_THAT(keys, ElementsAre(std::string(kHeldTaint), "a", "b", "c")) << "Kubernetes 1.34 takes four";
  EXPECT_TRUE(devices[2].taints.empty());
}

TEST(PublishedDevices, ThatThePolicyWithdrawsAreLeftOut) {
  const auto devices = PublishedDevices(TestSnapshot(), {}, {},
                                        {{.device = "gpu-0", .taints = {{"a", "", "NoSchedule"}}, .withdraw = true}});
  EXPECT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices.front().name, "gpu-1");
}

TEST(PublishedDevices, ThatAreLostStayWhilePodsMustLeaveThem) {
  const std::vector<api::Device> before = PublishedDevices(TestSnapshot(), {}, {}, {});
  const auto after = [&](const std::vector<health::DeviceHealth>& health) {
    device::Snapshot snapshot = TestSnapshot();
    snapshot.devices.erase(snapshot.devices.begin());  // gpu-0
    auto devices = PublishedDevices(snapshot, {}, {}, health);
    KeepEvicted(devices, before, health);
    return devices;
  };
  EXPECT_EQ(after({}).size(), 3U);
  EXPECT_EQ(after({{.device = "gpu-0", .taints = {{"a", "", "NoSchedule"}}}}).size(), 3U);
  const auto evicting = after({{.device = "gpu-0", .taints = {{"a", "", "NoExecute"}}}});
  ASSERT_EQ(evicting.size(), 4U);
  EXPECT_EQ(evicting.back().name, "gpu-0");
  EXPECT_THAT(evicting.back().taints, ElementsAre(api::Taint{"a", "", "NoExecute"}));
}

TEST(PublishedDevices, ThatAClaimHoldsUnderAnotherNameAreLeftOut) {
  const auto held = [](std::string name, api::Hardware hardware) {
    return std::make_shared<const api::PreparedClaim>(api::PreparedClaim{
        .claim = {"ml", "a", "uid"}, .devices = {{.name = std::move(name), .hardware = std::move(hardware)}}});
  };
  const auto count = [](const std::shared_ptr<const api::PreparedClaim>& claim) {
    return PublishedDevices(TestSnapshot(), {}, {claim}, {}).size();
  };
  const api::Hardware mig = HardwareOf(TestMig(2, 7, 0, 1));
  EXPECT_EQ(count(held("gpu-2-mig-19-0-1", mig)), 3U);  // As v25.8.1 of the Go driver named it …
  EXPECT_EQ(count(held("gpu-2-mig-19-0-1", {.mig = api::MigHardware{.uuid = "MIG-2-7"}})), 3U);  // … and recorded it.
  EXPECT_EQ(count(held("gpu-2-mig-1g10gb-19-0", mig)), 4U);
  EXPECT_EQ(count(held("gpu-0", HardwareOf(TestGpu(0)))), 4U);
}

TEST(PublishedDevices, ThatALocalRunHasKeepClaimsOut) {
  const auto run = std::make_shared<const api::PreparedClaim>(
      api::PreparedClaim{.claim = {"ml", "a", "uid"},
                         .devices = {{.name = "gpu-1", .hardware = HardwareOf(TestGpu(1))},
                                     {.name = "gpu-0", .admin_access = true, .hardware = HardwareOf(TestGpu(0))}},
                         .run = api::LocalRun{.pid = 7}});
  std::vector<std::string> tainted;
  for (const api::Device& device : PublishedDevices(TestSnapshot(), {}, {run}, {})) {
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
