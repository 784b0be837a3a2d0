// MIG through the C ABI: modes, profiles, instances, devices.
#include <set>

#include "sim/library/library_test.h"

namespace tessera::sim {
namespace {

namespace fs = std::filesystem;
using namespace abi;

class MigLibraryTest : public LibraryTest {
 protected:
  void SetUp() override {
    LibraryTest::SetUp();
    Init();
    gpu_ = Gpu(0);
  }

  void EnableMig() const {
    Return activation = kUnknown;
    ASSERT_EQ(Call("nvmlDeviceSetMigMode", gpu_, 1U, &activation), kSuccess);
    ASSERT_EQ(activation, kSuccess);
  }

  Return Create(unsigned profile_id, unsigned start, abi::GpuInstance* out) const {
    const Placement placement{.start = start, .size = 0};
    return Call("nvmlDeviceCreateGpuInstanceWithPlacement", gpu_, profile_id, &placement, out);
  }

  Device gpu_ = nullptr;
};

TEST_F(MigLibraryTest, EnumerationEndsWhereTheLibraryEnds) {
  struct Case {
    const char* header;
    unsigned count;
  };
  constexpr Case kCases[] = {{"11.0", 5}, {"11.8", 8}, {"12.4", 10}, {"12.8", 13}, {"13.0", 17}, {"13.3", 18}};
  const std::set<unsigned> kHas = {0, 1, 2, 3, 4, 7, 9};
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.header);
    Update([&](Machine& m) { m.nvml_header = c.header; });
    for (unsigned number = 0; number < 20; ++number) {
      GpuInstanceProfileInfo info{};
      const Return expected = number >= c.count ? kInvalidArgument : kHas.contains(number) ? kSuccess : kNotSupported;
      EXPECT_EQ(Call("nvmlDeviceGetGpuInstanceProfileInfo", gpu_, number, &info), expected) << number;
    }
  }
  GpuInstanceProfileInfo info{};
  EXPECT_EQ(Call("nvmlDeviceGetGpuInstanceProfileInfo", Gpu(3), 0U, &info), kNotSupported) << "a T4 has no MIG";
  EXPECT_EQ(Get("nvmlDeviceGetMaxMigDeviceCount", gpu_), 0) << "MIG is off";
}

TEST_F(MigLibraryTest, ProfileInfoOfTheObservedBoard) {
  GpuInstanceProfileInfoV2 info{};
  info.version = VersionOf<GpuInstanceProfileInfoV2>(2);
  EXPECT_EQ(Call("nvmlDeviceGetGpuInstanceProfileInfoV", gpu_, 7U, &info), kSuccess);
  EXPECT_EQ(info.version, 0U) << "as 580.159.04 does";
  EXPECT_EQ(info.id, 20U);
  EXPECT_EQ(info.memorySizeMB, 16384U);
  EXPECT_EQ(info.ofaCount, 1U);
  EXPECT_EQ(info.isP2pSupported, 0U);
  EXPECT_STREQ(info.name, "MIG 1g.18gb+me");
  for (const unsigned version :
       {0U, 2U, VersionOf<GpuInstanceProfileInfo>(1), VersionOf<GpuInstanceProfileInfoV2>(4)}) {
    info.version = version;
    EXPECT_EQ(Call("nvmlDeviceGetGpuInstanceProfileInfoV", gpu_, 7U, &info), kInvalidArgument) << version;
  }
  GpuInstanceProfileInfoV3 newer{};
  newer.version = VersionOf<GpuInstanceProfileInfoV3>(3);
  EXPECT_EQ(Call("nvmlDeviceGetGpuInstanceProfileInfoByIdV", gpu_, 0U, &newer), kSuccess);
  EXPECT_EQ(newer.sliceCount, 7U);
  EXPECT_EQ(newer.memorySizeMB, 143360U);
  newer.version = VersionOf<GpuInstanceProfileInfoV3>(3);
  EXPECT_EQ(Call("nvmlDeviceGetGpuInstanceProfileInfoByIdV", gpu_, 77U, &newer), kInvalidArgument);

  unsigned count = 0;
  Placement placements[8] = {};
  EXPECT_EQ(Call("nvmlDeviceGetGpuInstancePossiblePlacements_v2", gpu_, 15U, &placements[0], &count), kSuccess);
  EXPECT_EQ(count, 4U);
  EXPECT_EQ(placements[3].start, 6U);
  EXPECT_EQ(placements[3].size, 2U);
  count = 0;
  EXPECT_EQ(Call("nvmlDeviceGetGpuInstancePossiblePlacements_v2", gpu_, 19U, static_cast<Placement*>(nullptr), &count),
            kSuccess);
  EXPECT_EQ(count, 7U);
  EXPECT_EQ(Get("nvmlDeviceGetGpuInstanceRemainingCapacity", gpu_, 19U), 7) << "the maximum while MIG is off";
}

TEST_F(MigLibraryTest, ModeSwitchesAtOnceOrWaitsForAReset) {
  unsigned current = 9, pending = 9;
  Return activation = kUnknown;
  EXPECT_EQ(Call("nvmlDeviceGetMigMode", Gpu(3), &current, &pending), kNotSupported);
  EnableMig();
  EXPECT_EQ(Call("nvmlDeviceGetMigMode", gpu_, &current, &pending), kSuccess);
  EXPECT_EQ(current, 1U);
  EXPECT_EQ(pending, 1U);
  EXPECT_EQ(Get("nvmlDeviceGetMaxMigDeviceCount", gpu_), 7);

  Update([](Machine& m) { m.gpus[1].mig_activation = kInUse; });
  EXPECT_EQ(Call("nvmlDeviceSetMigMode", Gpu(1), 1U, &activation), kSuccess);
  EXPECT_EQ(activation, kInUse);
  Update([](Machine& m) { m.models["h200"].resetless_mig = false; });
  EXPECT_EQ(Call("nvmlDeviceSetMigMode", Gpu(2), 1U, &activation), kSuccess);
  EXPECT_EQ(activation, kResetRequired);
  for (const unsigned index : {1U, 2U}) {
    EXPECT_EQ(Call("nvmlDeviceGetMigMode", Gpu(index), &current, &pending), kSuccess);
    EXPECT_EQ(current, 0U);
    EXPECT_EQ(pending, 1U);
  }
  EXPECT_EQ(Call("nvmlDeviceSetMigMode", gpu_, 2U, &activation), kInvalidArgument);
  EXPECT_EQ(Call("nvmlDeviceSetMigMode", Gpu(3), 1U, &activation), kNotSupported);
}

TEST_F(MigLibraryTest, InstancesNeedTheModeAndRoom) {
  abi::GpuInstance instance = nullptr, other = nullptr;
  EXPECT_EQ(Create(9, 0, &instance), kNotSupported) << "MIG is off";
  unsigned count = 9;
  EXPECT_EQ(Call("nvmlDeviceGetGpuInstances", gpu_, 9U, &instance, &count), kSuccess);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(Call("nvmlDeviceGetGpuInstanceById", gpu_, 1U, &instance), kNotFound);
  EnableMig();
  ASSERT_EQ(Create(9, 4, &instance), kSuccess);
  EXPECT_EQ(Create(9, 4, &other), kInsufficientResources);
  EXPECT_EQ(Create(14, 4, &other), kInsufficientResources) << "overlaps the 3g";
  EXPECT_EQ(Call("nvmlDeviceCreateGpuInstance", gpu_, 0U, &other), kInsufficientResources);
  EXPECT_EQ(Create(77, 0, &other), kInvalidArgument);
  ASSERT_EQ(Create(14, 0, &other), kSuccess);
  EXPECT_NE(instance, other);
  EXPECT_EQ(Get("nvmlDeviceGetGpuInstanceRemainingCapacity", gpu_, 9U), 0);

  GpuInstanceInfo info{};
  EXPECT_EQ(Call("nvmlGpuInstanceGetInfo", instance, &info), kSuccess);
  EXPECT_EQ(info.device, gpu_);
  EXPECT_EQ(info.profileId, 9U);
  EXPECT_EQ(info.placement.start, 4U);
  EXPECT_EQ(info.placement.size, 4U);
  abi::GpuInstance again = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetGpuInstanceById", gpu_, info.id, &again), kSuccess);
  EXPECT_EQ(again, instance);
  Return activation = kUnknown;
  EXPECT_EQ(Call("nvmlDeviceSetMigMode", gpu_, 0U, &activation), kSuccess);
  EXPECT_EQ(activation, kInUse);
  EXPECT_EQ(Call("nvmlDeviceGetRemappedRows", gpu_, &count, &count, &count, &count), kNotSupported);
}

TEST_F(MigLibraryTest, LifeOfAMigDevice) {
  EnableMig();
  abi::GpuInstance instance = nullptr;
  abi::ComputeInstance compute = nullptr;
  ASSERT_EQ(Create(9, 0, &instance), kSuccess);
  ComputeInstanceProfileInfo profile{};
  EXPECT_EQ(Call("nvmlGpuInstanceGetComputeInstanceProfileInfo", instance, 2U, 0U, &profile), kSuccess);
  EXPECT_EQ(profile.sliceCount, 3U);
  EXPECT_EQ(Call("nvmlGpuInstanceGetComputeInstanceProfileInfo", instance, 4U, 0U, &profile), kNotSupported);
  EXPECT_EQ(Call("nvmlGpuInstanceGetComputeInstanceProfileInfo", instance, 8U, 0U, &profile), kInvalidArgument);
  EXPECT_EQ(Call("nvmlGpuInstanceGetComputeInstanceProfileInfo", instance, 2U, 1U, &profile), kInvalidArgument);
  ASSERT_EQ(Call("nvmlGpuInstanceCreateComputeInstance", instance, 2U, &compute), kSuccess);
  EXPECT_EQ(Get("nvmlGpuInstanceGetComputeInstanceRemainingCapacity", instance, 0U), 0);

  ComputeInstanceInfo info{};
  ASSERT_EQ(Call("nvmlComputeInstanceGetInfo_v2", compute, &info), kSuccess);
  EXPECT_EQ(info.gpuInstance, instance);
  const Device mig = info.device;
  EXPECT_EQ(Get("nvmlDeviceIsMigDeviceHandle", mig), 1);
  EXPECT_EQ(Get("nvmlDeviceIsMigDeviceHandle", gpu_), 0);
  EXPECT_EQ(Text("nvmlDeviceGetName", mig), "NVIDIA H200 MIG 3g.71gb");
  const std::string uuid = Text("nvmlDeviceGetUUID", mig);
  EXPECT_TRUE(uuid.starts_with("MIG-") && uuid.size() == 40) << uuid;
  Device found = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &found), kSuccess);
  EXPECT_EQ(found, mig);
  EXPECT_EQ(Call("nvmlDeviceGetMigDeviceHandleByIndex", gpu_, 0U, &found), kSuccess);
  EXPECT_EQ(found, mig);
  EXPECT_EQ(Call("nvmlDeviceGetMigDeviceHandleByIndex", gpu_, 1U, &found), kNotFound);
  EXPECT_EQ(Call("nvmlDeviceGetMigDeviceHandleByIndex", gpu_, 7U, &found), kInvalidArgument);
  EXPECT_EQ(Call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig, &found), kSuccess);
  EXPECT_EQ(found, gpu_);
  EXPECT_EQ(Call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", gpu_, &found), kInvalidArgument);
  EXPECT_EQ(Get("nvmlDeviceGetGpuInstanceId", gpu_), -kInvalidArgument);
  EXPECT_EQ(Get("nvmlDeviceGetGpuInstanceId", mig), 1);
  EXPECT_EQ(Get("nvmlDeviceGetComputeInstanceId", mig), 0);
  DeviceAttributes attributes{};
  EXPECT_EQ(Call("nvmlDeviceGetAttributes_v2", mig, &attributes), kSuccess);
  EXPECT_EQ(attributes.memorySizeMB, 71424U);
  EXPECT_EQ(attributes.multiprocessorCount, 60U);
  EXPECT_EQ(Call("nvmlDeviceGetAttributes_v2", gpu_, &attributes), kNotSupported);

  EXPECT_EQ(Call("nvmlGpuInstanceDestroy", instance), kInUse);
  EXPECT_EQ(Call("nvmlComputeInstanceDestroy", compute), kSuccess);
  EXPECT_EQ(Call("nvmlComputeInstanceDestroy", compute), kNotFound);
  EXPECT_EQ(Text("nvmlDeviceGetUUID", mig), "code 6") << "the handle died with it";
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &found), kNotFound);
  EXPECT_EQ(Call("nvmlGpuInstanceDestroy", instance), kSuccess);

  abi::GpuInstance next = nullptr;
  ASSERT_EQ(Create(9, 0, &next), kSuccess);
  EXPECT_NE(next, instance) << "an address is never given out twice";
  ASSERT_EQ(Call("nvmlGpuInstanceCreateComputeInstance", next, 2U, &compute), kSuccess);
  ASSERT_EQ(Call("nvmlComputeInstanceGetInfo_v2", compute, &info), kSuccess);
  EXPECT_NE(Text("nvmlDeviceGetUUID", info.device), uuid) << "a new one each time";
}

TEST_F(MigLibraryTest, OldSymbolsWriteOldStructs) {
  EnableMig();
  abi::GpuInstance instance = nullptr;
  abi::ComputeInstance compute = nullptr;
  ASSERT_EQ(Create(14, 0, &instance), kSuccess);
  ASSERT_EQ(Call("nvmlGpuInstanceCreateComputeInstance", instance, 0U, &compute), kSuccess);
  ComputeInstanceInfo info{};
  info.placement = {.start = 77, .size = 77};
  ASSERT_EQ(Call("nvmlComputeInstanceGetInfo", compute, &info), kSuccess);
  EXPECT_EQ(info.placement.start, 77U);
  EXPECT_EQ(Text("nvmlDeviceGetName", info.device), "NVIDIA H200 MIG 1c.2g.35gb");
  DeviceAttributes attributes{};
  attributes.gpuInstanceSliceCount = 77;
  EXPECT_EQ(Call("nvmlDeviceGetAttributes", info.device, &attributes), kSuccess);
  EXPECT_EQ(attributes.gpuInstanceSliceCount, 77U);
}

TEST_F(MigLibraryTest, OnlyDevicesWithOpenCapabilitiesAreSeen) {
  EnableMig();
  std::vector<std::string> uuids;
  for (unsigned i = 0; i < 2; ++i) {
    abi::GpuInstance instance = nullptr;
    abi::ComputeInstance compute = nullptr;
    ASSERT_EQ(Create(19, i, &instance), kSuccess);
    ASSERT_EQ(Call("nvmlGpuInstanceCreateComputeInstance", instance, 0U, &compute), kSuccess);
    ComputeInstanceInfo info{};
    ASSERT_EQ(Call("nvmlComputeInstanceGetInfo_v2", compute, &info), kSuccess);
    uuids.push_back(Text("nvmlDeviceGetUUID", info.device));
  }
  const GpuInstance hidden = store_->Read().value()->gpus[0].instances[0];
  ASSERT_TRUE(fs::remove(root() / Format("dev/nvidia-caps/nvidia-cap{}", CapMinor(0, hidden.id, 0))));
  Device found = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetMigDeviceHandleByIndex", gpu_, 0U, &found), kNotFound);
  EXPECT_EQ(Call("nvmlDeviceGetMigDeviceHandleByIndex", gpu_, 1U, &found), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", uuids[0].c_str(), &found), kNotFound);
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", uuids[1].c_str(), &found), kSuccess);
}

TEST_F(MigLibraryTest, ComputeModeBelongsToMigDevices) {
  EnableMig();
  EXPECT_EQ(Call("nvmlDeviceSetComputeMode", gpu_, 3U), kNotSupported);
  Utilization rates{};
  EXPECT_EQ(Call("nvmlDeviceGetUtilizationRates", gpu_, &rates), kNotSupported);
}

}  // namespace
}  // namespace tessera::sim
