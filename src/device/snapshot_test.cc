#include "device/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/text.h"
#include "device/inventory.h"
#include "json/decode.h"
#include "tests/support/paths.h"

namespace tessera::device {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

nvml::GpuFacts Facts(unsigned index, std::uint64_t gib = 80) {
  nvml::GpuFacts gpu;
  gpu.index = index;
  gpu.minor = index;
  gpu.uuid = Format("GPU-0000000{}-0000-0000-0000-000000000000", index);
  gpu.name = "NVIDIA A100-SXM4-80GB";
  gpu.brand = 14;
  gpu.architecture = 7;
  gpu.cc_major = 8;
  gpu.cc_minor = 0;
  gpu.memory_bytes = gib << 30U;
  gpu.bus_id = Format("00000000:0{}:00.0", index);
  gpu.mig_enabled = false;
  return gpu;
}

nvml::GpuFacts MigFacts(unsigned index) {
  nvml::GpuFacts gpu = Facts(index);
  gpu.mig_enabled = true;
  gpu.mig_profiles = {{0, 19, 1, 7, 14, 1, 0, 0, 0, 0, 9856}, {2, 9, 3, 2, 42, 3, 2, 0, 0, 0, 40192}};
  gpu.mig_devices = {{0, "MIG-1", 1U, 0U, 9U, 4, 4, 3U, std::nullopt, {}},
                     {1, "MIG-2", 7U, 0U, 19U, 0, 1, 1U, std::nullopt, {}}};
  return gpu;
}

std::vector<std::string> Names(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const Device& device : snapshot.devices) names.push_back(device.name);
  return names;
}

TEST(Snapshot, PublishesTheLeastFragmentingFirst) {
  nvml::MachineFacts facts;
  facts.gpus = {Facts(0, 80), Facts(1, 24), MigFacts(2), Facts(3, 80)};
  const Snapshot snapshot =
      MakeSnapshot(facts, {{"0000:03:00.0", {"pci0000:00", 0}}, {"0000:00:00.0", {"pci0000:40", 1}}});
  EXPECT_THAT(Names(snapshot), ElementsAre("gpu-2-mig-1g10gb-19-0", "gpu-1", "gpu-2-mig-3g40gb-9-4", "gpu-3", "gpu-0"));
  EXPECT_THAT(snapshot.withheld, IsEmpty());
}

TEST(Snapshot, AmongEqualMemoryTheScarceComeLast) {
  nvml::MachineFacts facts;
  facts.gpus = {MigFacts(0)};
  facts.gpus[0].mig_profiles = {{0, 19, 1, 7, 14, 1, 0, 0, 0, 0, 9856},
                                {7, 20, 1, 1, 14, 1, 1, 0, 1, 1, 9856},
                                {2, 9, 3, 2, 42, 3, 2, 0, 0, 0, 40192},
                                {3, 5, 4, 1, 56, 4, 2, 0, 0, 0, 40192}};
  facts.gpus[0].mig_devices = {{0, "MIG-4g", 1U, 0U, 5U, 0, 4, 4U, std::nullopt, {}},
                               {1, "MIG-3g", 2U, 0U, 9U, 4, 4, 3U, std::nullopt, {}}};
  EXPECT_THAT(Names(MakeSnapshot(facts, {})), ElementsAre("gpu-0-mig-3g40gb-9-4", "gpu-0-mig-4g40gb-5-0"));
  facts.gpus[0].mig_devices = {{0, "MIG-me", 7U, 0U, 20U, 0, 1, 1U, std::nullopt, {}},
                               {1, "MIG-1g", 8U, 0U, 19U, 1, 1, 1U, std::nullopt, {}}};
  EXPECT_THAT(Names(MakeSnapshot(facts, {})), ElementsAre("gpu-0-mig-1g10gb-19-1", "gpu-0-mig-1g10gb-me-20-0"));
}

TEST(Snapshot, VersionsBecomeSemver) {
  nvml::MachineFacts facts;
  facts.driver_version = "570.158.01";
  facts.cuda_version = 12080;
  facts.gpus = {Facts(0)};
  const Snapshot snapshot = MakeSnapshot(facts, {});
  EXPECT_EQ(snapshot.driver_semver, "570.158.1");
  EXPECT_EQ(snapshot.cuda_driver_version, "12.8.0");
  EXPECT_EQ(snapshot.devices.at(0).gpu.compute_capability, "8.0.0");
  EXPECT_EQ(snapshot.devices.at(0).gpu.architecture, "Ampere");
}

TEST(Snapshot, OneBadGpuDoesNotHideTheOthers) {
  nvml::MachineFacts facts;
  facts.gpus = {Facts(0), Facts(1), Facts(2)};
  facts.gpus[1].uuid.clear();
  facts.gpus[1].gaps = {{"nvmlDeviceGetUUID", "GPU is lost (15)"}};
  facts.gpus[2].minor.reset();
  const Snapshot snapshot = MakeSnapshot(facts, {});
  EXPECT_THAT(Names(snapshot), ElementsAre("gpu-0"));
  ASSERT_EQ(snapshot.withheld.size(), 2U);
  EXPECT_EQ(snapshot.withheld[0].name, "gpu-1");
  EXPECT_EQ(snapshot.withheld[0].code, "GpuUnreadable");
  EXPECT_THAT(snapshot.withheld[0].reason, HasSubstr("nvmlDeviceGetUUID: GPU is lost (15)"));
  EXPECT_EQ(snapshot.withheld[1].name, "GPU at index 2");
}

TEST(Snapshot, AGpuWhoseMigModeIsNotKnownIsNotOfferedWhole) {
  nvml::MachineFacts facts;
  facts.gpus = {Facts(0), Facts(1), Facts(2)};
  facts.gpus[0].mig_enabled.reset();
  facts.gpus[0].gaps = {{"nvmlDeviceGetMigMode", "Unknown Error (999)"}};
  facts.gpus[1].mig_enabled.reset();  // "Not supported" leaves no gap: an ordinary GPU.
  facts.gpus[2].mig_enabled.reset();
  facts.gpus[2].gaps = {{"nvmlDeviceGetName", "Unknown Error (999)"}};
  const Snapshot snapshot = MakeSnapshot(facts, {});
  EXPECT_THAT(Names(snapshot), ElementsAre("gpu-1", "gpu-2"));
  EXPECT_EQ(snapshot.withheld.at(0).code, "MigUnreadable");
}

TEST(Snapshot, MigWithoutDevicesIsStrandedAndSaysSo) {
  nvml::MachineFacts facts;
  facts.gpus = {MigFacts(0)};
  facts.gpus[0].mig_devices.clear();
  const Snapshot snapshot = MakeSnapshot(facts, {});
  EXPECT_THAT(Names(snapshot), IsEmpty());
  EXPECT_EQ(snapshot.withheld.at(0).code, "MigWithoutDevices");
}

TEST(Snapshot, AnUnreadableMigDeviceLeavesItsSiblings) {
  nvml::MachineFacts facts;
  facts.gpus = {MigFacts(0)};
  facts.gpus[0].mig_devices[0].profile_id.reset();
  facts.gpus[0].mig_devices[0].gaps = {{"nvmlGpuInstanceGetInfo", "Unknown Error (999)"}};
  const Snapshot snapshot = MakeSnapshot(facts, {});
  EXPECT_THAT(Names(snapshot), ElementsAre("gpu-0-mig-1g10gb-19-0"));
  EXPECT_EQ(snapshot.withheld.at(0).code, "MigUnreadable");
  EXPECT_EQ(snapshot.withheld.at(0).uuid, "MIG-1");
}

TEST(Snapshot, ComputeInstancesOfOneGpuInstanceHaveTheirOwnNames) {
  nvml::MachineFacts facts;
  facts.gpus = {MigFacts(0)};
  facts.gpus[0].mig_devices = {{0, "MIG-1", 1U, 0U, 9U, 4, 4, 1U, std::nullopt, {}},
                               {1, "MIG-2", 1U, 1U, 9U, 4, 4, 1U, std::nullopt, {}}};
  EXPECT_THAT(Names(MakeSnapshot(facts, {})), ElementsAre("gpu-0-mig-1c3g40gb-9-4-0", "gpu-0-mig-1c3g40gb-9-4-1"));
}

TEST(Snapshot, TwiceTheSameIdentityIsWithheld) {
  nvml::MachineFacts facts;
  facts.gpus = {Facts(0), Facts(1)};
  facts.gpus[1].uuid = facts.gpus[0].uuid;
  const Snapshot snapshot = MakeSnapshot(facts, {});
  EXPECT_THAT(Names(snapshot), ElementsAre("gpu-0"));
  EXPECT_EQ(snapshot.withheld.at(0).code, "DuplicateIdentity");
}

TEST(Snapshot, UnknownEnumsOfNewerDriversAreNoFailure) {
  nvml::MachineFacts facts;
  facts.gpus = {Facts(0)};
  facts.gpus[0].brand = 77;
  facts.gpus[0].architecture = 0xFFFFFFFF;
  const Snapshot snapshot = MakeSnapshot(facts, {});
  EXPECT_EQ(snapshot.devices.at(0).gpu.brand, "Unknown");
  EXPECT_EQ(snapshot.devices.at(0).gpu.architecture, "Unknown");
}

TEST(Inventory, SaysWhetherAnythingChanged) {
  nvml::MachineFacts facts;
  facts.gpus = {Facts(0), Facts(1)};
  nvml::FixedLibrary library(facts);
  Inventory inventory(library, "/nonexistent");
  const auto first = inventory.Rescan().value();
  EXPECT_TRUE(first.changed);
  const auto second = inventory.Rescan().value();
  EXPECT_FALSE(second.changed);
  EXPECT_EQ(second.snapshot, first.snapshot);
  EXPECT_EQ(second.version, 1U);
  facts.gpus.pop_back();
  library.Set(facts);
  const auto third = inventory.Rescan().value();
  EXPECT_TRUE(third.changed);
  EXPECT_EQ(third.version, 2U);
  EXPECT_EQ(first.snapshot->devices.size(), 2U) << "an old snapshot stays as it was";
}

// A real machine, as `tessera devices --record` wrote it (identities replaced).
TEST(Recording, AnH200ReadsAsNvidiaSmiShowsIt) {
  const auto text = ReadFile(TESSERA_SOURCE_DIR "/tests/testdata/machines/h200-passthrough-580.159.04.json");
  const auto recording = json::Decode<Recording>(json::ParseJson(text.value()).value());
  ASSERT_TRUE(recording.has_value()) << recording.error().message();
  const Snapshot snapshot = MakeSnapshot(recording->nvml, recording->pci);
  ASSERT_THAT(Names(snapshot), ElementsAre("gpu-0"));
  const Gpu& gpu = snapshot.devices[0].gpu;
  EXPECT_EQ(gpu.product_name, "NVIDIA H200");
  EXPECT_EQ(gpu.brand, "Nvidia");
  EXPECT_EQ(gpu.architecture, "Hopper");
  EXPECT_EQ(gpu.compute_capability, "9.0.0");
  EXPECT_EQ(gpu.memory_bytes, 150754820096U);
  EXPECT_EQ(gpu.bus_id, "0000:00:06.0");
  EXPECT_EQ(gpu.place, (PciPlace{"pci0000:00", std::nullopt}));
  EXPECT_EQ(gpu.addressing_mode, "None");
  EXPECT_EQ(gpu.mig_enabled, false);
  EXPECT_EQ(gpu.nvlink_island, "");
  EXPECT_EQ(snapshot.driver_semver, "580.159.4");
  EXPECT_THAT(snapshot.devices[0].gaps, IsEmpty());
}

}  // namespace
}  // namespace tessera::device
