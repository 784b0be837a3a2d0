#include "nvml/vet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::nvml {
namespace {

using ::testing::IsEmpty;

constexpr const char* kUuid = "GPU-12345678-1234-1234-1234-123456789abc";

MachineFacts Plausible() {
  MachineFacts machine;
  machine.driver_version = "580.159.04";
  machine.cuda_version = 13000;
  GpuFacts gpu;
  gpu.uuid = kUuid;
  gpu.minor = 0;
  gpu.name = "NVIDIA H200";
  gpu.bus_id = "00000000:3B:00.0";
  gpu.cc_major = 9;
  gpu.cc_minor = 0;
  gpu.memory_bytes = 150754820096;
  gpu.links = {{0, true, 6U, 2U, "00000000:05:00.0"}};
  gpu.fabric = FabricFacts{3, 0, "00000000-0000-0000-0000-000000000000", 0, std::nullopt};
  gpu.mig_profiles = {{0, 19, 1, 7, 16, 1, 1, 0, 1, 0, 16384}};
  gpu.mig_devices = {{0, "MIG-12345678-1234-1234-1234-123456789abc", 7U, 0U, 19U, 0, 1, 1U, 16U, {}}};
  machine.gpus = {gpu};
  return machine;
}

TEST(Vet, LeavesThePlausibleAlone) {
  MachineFacts machine = Plausible();
  Vet(machine);
  EXPECT_EQ(machine, Plausible());
}

TEST(Vet, DropsGarbageAndSaysSo) {
  const std::string escape = "\x1b[31mred";
  MachineFacts machine = Plausible();
  machine.driver_version = std::string(79, '\xA5');
  machine.cuda_version = 0xA5A5A5A5;
  GpuFacts& gpu = machine.gpus[0];
  gpu.uuid = "GPU-" + escape;
  gpu.minor = 0xA5A5A5A5;
  gpu.name = escape;
  gpu.bus_id = "../../../etc";
  gpu.cc_major = 0xA5A5A5A5;
  gpu.memory_bytes = ~std::uint64_t{0};
  gpu.links[0].remote_bus_id = escape;
  gpu.fabric->state = 0xA5;
  gpu.mig_profiles[0].memory_mb = ~std::uint64_t{0};
  MigFacts& mig = gpu.mig_devices[0];
  mig.uuid = "MIG-GPU-x/1/2";
  mig.gpu_instance = 0xA5A5A5A5;
  mig.compute_slices = 0;
  mig.placement_size = 0xFFFFFFFF;
  gpu.gaps = {{escape, escape}};
  Vet(machine);

  EXPECT_EQ(machine.driver_version, "");
  EXPECT_EQ(machine.cuda_version, std::nullopt);
  EXPECT_EQ(machine.gaps.size(), 2U);
  EXPECT_EQ(gpu.uuid, "");
  EXPECT_EQ(gpu.minor, std::nullopt);
  EXPECT_EQ(gpu.name, "");
  EXPECT_EQ(gpu.bus_id, "");
  EXPECT_EQ(gpu.cc_major, std::nullopt);
  EXPECT_EQ(gpu.memory_bytes, std::nullopt);
  EXPECT_EQ(gpu.links[0].remote_bus_id, "");
  EXPECT_EQ(gpu.fabric, std::nullopt);
  EXPECT_THAT(gpu.mig_profiles, IsEmpty());
  EXPECT_EQ(gpu.gaps.size(), 10U) << "the one it had, and nine dropped";
  EXPECT_EQ(gpu.gaps[0].reason.find('\x1b'), std::string::npos);
  EXPECT_EQ(mig.uuid, "");
  EXPECT_EQ(mig.gpu_instance, std::nullopt);
  EXPECT_EQ(mig.compute_slices, std::nullopt);
  EXPECT_EQ(mig.profile_id, std::nullopt);
  EXPECT_EQ(mig.gaps.size(), 4U);
}

TEST(Vet, KnowsIdentities) {
  EXPECT_TRUE(IsGpuUuid(kUuid));
  EXPECT_FALSE(IsGpuUuid("GPU-12345678-1234-1234-1234-123456789ABC")) << "NVML writes lower case";
  EXPECT_TRUE(IsMigUuid("MIG-GPU-12345678-1234-1234-1234-123456789abc/7/0"));
  EXPECT_FALSE(IsMigUuid(kUuid));
  EXPECT_TRUE(IsBusId("00010000:3B:00.0"));
  EXPECT_TRUE(IsBusId("0000:3b:00.0"));
  EXPECT_FALSE(IsBusId("3B:00.0"));
  EXPECT_FALSE(IsBusId("00000000:3B:00/0"));
}

GpuVitals PlausibleVitals() {
  GpuVitals gpu{.uuid = kUuid};
  gpu.ecc_corrected = 12;
  gpu.remapped_corrected = 1;
  gpu.retired_corrected = 1;
  gpu.temperature = 35;
  gpu.slowdown_reasons = 0x1;
  gpu.pcie_generation = gpu.pcie_generation_max = 5;
  gpu.pcie_width = gpu.pcie_width_max = 16;
  gpu.recovery_action = 0;
  gpu.fabric = FabricFacts{3, 0, "00000000-0000-0000-0000-000000000000", 0, std::nullopt};
  gpu.links = {{.link = 0, .active = true, .replay_errors = 1}};
  return gpu;
}

TEST(VetVitals, LeavesThePlausibleAlone) {
  GpuVitals gpu = PlausibleVitals();
  Vet(gpu);
  EXPECT_EQ(gpu, PlausibleVitals());
}

TEST(VetVitals, DropsGarbageAndSaysSoOnce) {
  constexpr std::uint64_t kGarbage = 0xA5A5A5A5A5A5A5A5;
  constexpr auto kShort = static_cast<unsigned>(kGarbage);
  GpuVitals gpu = PlausibleVitals();
  gpu.ecc_corrected = gpu.ecc_uncorrected = gpu.slowdown_reasons = kGarbage;
  gpu.remapped_corrected = gpu.retired_corrected = gpu.temperature = gpu.pcie_width = gpu.recovery_action = kShort;
  gpu.fabric->state = 0xA5;
  gpu.links[0].replay_errors = kGarbage;
  Vet(gpu);
  EXPECT_FALSE(gpu.ecc_corrected || gpu.ecc_uncorrected || gpu.slowdown_reasons || gpu.remapped_corrected ||
               gpu.retired_corrected || gpu.temperature || gpu.pcie_width || gpu.recovery_action || gpu.fabric ||
               gpu.links[0].replay_errors);
  EXPECT_EQ(gpu.pcie_generation, 5U) << "the rest stays";
  EXPECT_EQ(gpu.gaps.size(), 9U) << "both ECC counters come from one function";
}

}  // namespace
}  // namespace tessera::nvml
