#include "inspect/devices_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"

namespace tessera::inspect {
namespace {

using ::testing::HasSubstr;

device::Snapshot Sample() {
  device::Snapshot snapshot;
  snapshot.driver_version = "580.159.04";
  snapshot.driver_semver = "580.159.4";
  snapshot.cuda_driver_version = "13.0.0";
  device::Device gpu;
  gpu.name = "gpu-1";
  gpu.gpu.index = 1;
  gpu.gpu.minor = 1;
  gpu.gpu.uuid = "GPU-1";
  gpu.gpu.product_name = "NVIDIA H200";
  gpu.gpu.memory_bytes = 150754820096;
  gpu.gpu.mig_enabled = false;
  gpu.gpu.place = {"pci0000:3a", 1};
  gpu.gpu.nvlink_island = "GPU-0";
  device::Device mig = gpu;
  gpu.gaps = {{"nvmlDeviceGetName", "Unknown Error (999)"}};
  mig.name = "gpu-0-mig-1g18gb-19-0";
  mig.gpu.index = 0;
  mig.gpu.nvlink_island.clear();
  mig.gpu.recovery_action = 1;
  mig.mig.emplace();
  mig.mig->uuid = "MIG-1";
  mig.mig->profile = "1g.18gb";
  mig.mig->memory_bytes = std::uint64_t{16384} << 20U;
  snapshot.devices = {gpu, mig};
  snapshot.withheld = {{"gpu-3", "", "", "GpuUnreadable", "its UUID cannot be read"}};
  return snapshot;
}

TEST(DevicesView, TableIsByIndexAndSaysWhatIsMissing) {
  EXPECT_EQ(
      RenderDevices(Sample(), {}),
      "NVIDIA driver 580.159.04, CUDA 13.0\n"
      "\n"
      "INDEX   NAME                    PRODUCT       MEMORY    MIG       NUMA   PCIE ROOT    NVLINK   HEALTH\n"
      "0       gpu-0-mig-1g18gb-19-0   NVIDIA H200   16 GiB    1g.18gb   1      pci0000:3a   -        needs a reset\n"
      "1       gpu-1                   NVIDIA H200   140 GiB   off       1      pci0000:3a   A        ok, partly read\n"
      "\n"
      "Not offered:\n"
      "  gpu-3: its UUID cannot be read [GpuUnreadable]\n"
      "\n"
      "Read in part:\n"
      "  gpu-1: nvmlDeviceGetName: Unknown Error (999)\n");
}

TEST(DevicesView, SaysWhatStandsAgainstADeviceAndWhatToDo) {
  const std::chrono::system_clock::time_point since{std::chrono::seconds(1'800'000'000)};
  const std::vector<health::DeviceHealth> health{{.device = "gpu-1",
                                                  .uuid = "GPU-1",
                                                  .state = health::State::kUnhealthy,
                                                  .reasons = {{.code = "Xid119",
                                                               .severity = health::Severity::kUnusable,
                                                               .sentence = "the firmware did not answer",
                                                               .next = "Reset it.",
                                                               .since = since}}}};
  const std::string table = RenderDevices(Sample(), {}, health);
  EXPECT_THAT(table, HasSubstr("unhealthy: Xid119\n"));
  EXPECT_THAT(table, HasSubstr("\nFound by the plugin:\n  gpu-1: Xid119: the firmware did not answer (since "
                               "2027-01-15T08:00:00Z). Reset it.\n"));
  EXPECT_THAT(RenderDevices(Sample(), {DevicesFormat::kWide, false, ""}, health),
              HasSubstr("2027-01-15T08:00:00Z   unhealthy: Xid119\n"));
  const auto value = json::ParseJson(RenderDevices(Sample(), {DevicesFormat::kJson, false, ""}, health)).value();
  EXPECT_EQ(value.at("health").at(0).at("reasons").at(0).at("code"), "Xid119");
}

TEST(DevicesView, WideAddsIdentity) {
  EXPECT_THAT(RenderDevices(Sample(), {DevicesFormat::kWide, false, ""}), HasSubstr("MIG-1"));
}

TEST(DevicesView, JsonAndYamlAreTheSameValue) {
  const auto from_json = json::ParseJson(RenderDevices(Sample(), {DevicesFormat::kJson, false, ""}));
  const auto from_yaml = json::ParseYaml(RenderDevices(Sample(), {DevicesFormat::kYaml, false, ""}));
  ASSERT_TRUE(from_json.has_value());
  ASSERT_TRUE(from_yaml.has_value());
  EXPECT_EQ(*from_json, from_yaml->at(0));
  EXPECT_EQ(from_json->at("withheld").at(0).at("code"), "GpuUnreadable");
}

TEST(DevicesView, SlicesAreApiObjects) {
  const auto slices = json::ParseYaml(RenderDevices(Sample(), {DevicesFormat::kSlices, false, "n1"}));
  ASSERT_TRUE(slices.has_value());
  EXPECT_EQ(slices->at(0).at("kind"), "ResourceSlice");
  EXPECT_EQ(slices->at(0).at("spec").at("pool").at("name"), "n1");
}

TEST(DevicesView, SetUpIsNotAFault) {
  device::Snapshot snapshot = Sample();
  EXPECT_TRUE(HasUnreadableDevices(snapshot));
  snapshot.withheld[0].code = "MigWithoutDevices";
  EXPECT_FALSE(HasUnreadableDevices(snapshot));
}

}  // namespace
}  // namespace tessera::inspect
