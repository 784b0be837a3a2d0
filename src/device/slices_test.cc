#include "device/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace tessera::device {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;

Device FullGpu(unsigned minor) {
  Device device;
  device.name = Format("gpu-{}", minor);
  device.gpu.minor = minor;
  device.gpu.uuid = Format("GPU-{}", minor);
  device.gpu.product_name = "NVIDIA H100 80GB HBM3";
  device.gpu.brand = "Nvidia";
  device.gpu.architecture = "Hopper";
  device.gpu.compute_capability = "9.0.0";
  device.gpu.memory_bytes = 85520809984;
  device.gpu.bus_id = "0000:1b:00.0";
  device.gpu.place = {"pci0000:1a", 0};
  device.gpu.addressing_mode = "None";
  device.gpu.ecc = true;
  device.gpu.persistence = true;
  device.gpu.pcie_generation = 5;
  device.gpu.pcie_width = 16;
  device.gpu.module_id = 3;
  device.gpu.serial = "1650000000001";
  device.gpu.nvlink_island = "GPU-0";
  device.gpu.nvlink_count = 18;
  device.gpu.nvlink_version = "4.0.0";
  device.gpu.nvswitch = true;
  return device;
}

Device WholeGpuMig() {
  Device device = FullGpu(0);
  device.mig = Mig{"MIG-1", "7g.80gb", 0, 0, 0, 0, 8, std::uint64_t{81152} << 20U, 132, 8, 7, 0, 7, 1};
  device.name = "gpu-0-mig-7g80gb-0-0";
  return device;
}

Snapshot With(std::vector<Device> devices) {
  Snapshot snapshot;
  snapshot.driver_semver = "580.159.4";
  snapshot.cuda_driver_version = "13.0.0";
  snapshot.devices = std::move(devices);
  return snapshot;
}

TEST(Slices, ThereIsAlwaysOne) {
  const auto slices = MakeSlices(With({}), {"n1", 3, std::nullopt});
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_TRUE(slices[0].devices.empty());
  EXPECT_EQ(slices[0].pool_slice_count, 1);
  EXPECT_EQ(slices[0].pool_generation, 3);
}

TEST(Slices, SplitAt64InOrder) {
  std::vector<Device> devices;
  for (unsigned i = 0; i < 130; ++i) devices.push_back(FullGpu(i));
  const auto slices = MakeSlices(With(devices), {"n1", 1, std::nullopt});
  ASSERT_EQ(slices.size(), 3U);
  EXPECT_EQ(slices[0].devices.size(), 64U);
  EXPECT_EQ(slices[2].devices.size(), 2U);
  EXPECT_EQ(slices[1].devices.front().name, "gpu-64");
  EXPECT_EQ(slices[2].generate_name, "00002-gpu.nvidia.com-n1-");
  for (const auto& slice : slices) {
    EXPECT_EQ(slice.pool_slice_count, 3);
    EXPECT_EQ(slice.pool_name, "n1");
    EXPECT_EQ(slice.node_name, "n1");
  }
}

TEST(Slices, AFullGpuFitsWithEveryAttribute) {
  const api::Device device = MakeApiDevice(With({}), FullGpu(0));
  EXPECT_LE(device.attributes.size() + device.capacity.size(), api::kMaxAttributesAndCapacities);
  for (const std::string_view name : {"type", "uuid", "nvlinkIsland", "nvlinkCount", "nvlinkVersion", "nvswitch",
                                      "serial", "pcieBusID", "gpuModuleID", "persistenceMode"}) {
    EXPECT_THAT(device.attributes, Contains(Key(std::string(name))));
  }
  EXPECT_EQ(device.capacity.at("memory").ToString(), "81559Mi");
}

TEST(Slices, AtTheLimitTheLeastImportantGoFirst) {
  const api::Device device = MakeApiDevice(With({}), WholeGpuMig());
  EXPECT_EQ(device.attributes.size() + device.capacity.size(), api::kMaxAttributesAndCapacities);
  EXPECT_THAT(device.attributes, Not(Contains(Key("persistenceMode"))));
  EXPECT_THAT(device.attributes, Not(Contains(Key("pcieWidth"))));
  for (const std::string_view name : {"type", "uuid", "parentUUID", "profile", "migProfile", "productName",
                                      "resource.kubernetes.io/pciBusID", "resource.kubernetes.io/numaNode"}) {
    EXPECT_THAT(device.attributes, Contains(Key(std::string(name))));
  }
  EXPECT_EQ(device.capacity.size(), 15U);
  EXPECT_THAT(device.capacity, Contains(Key("memorySlice7")));
}

TEST(Slices, AGpuOfTheFutureStillFits) {
  Device device = WholeGpuMig();
  device.mig->placement_size = 16;
  const api::Device out = MakeApiDevice(With({}), device);
  EXPECT_EQ(out.attributes.size() + out.capacity.size(), api::kMaxAttributesAndCapacities);
  EXPECT_THAT(out.capacity, Contains(Key("memory")));
  EXPECT_THAT(out.attributes, Contains(Key("profile")));
}

TEST(Slices, UnknownIsNotPublished) {
  Device device;
  device.name = "gpu-0";
  device.gpu.uuid = "GPU-0";
  const api::Device out = MakeApiDevice(Snapshot{}, device);
  EXPECT_EQ(out.attributes.size(), 2U) << "type and uuid";
  EXPECT_TRUE(out.capacity.empty());
}

TEST(Slices, LongNamesAreCut) {
  Device device = FullGpu(0);
  device.gpu.product_name = std::string(70, 'x');
  EXPECT_EQ(std::get<std::string>(MakeApiDevice(With({}), device).attributes.at("productName")).size(), 64U);
}

}  // namespace
}  // namespace tessera::device
