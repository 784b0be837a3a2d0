#include "device/nvlink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::device {
namespace {

using ::testing::ElementsAre;

nvml::GpuFacts Gpu(std::string uuid, std::string bus_id) {
  nvml::GpuFacts gpu;
  gpu.uuid = std::move(uuid);
  gpu.bus_id = std::move(bus_id);
  return gpu;
}

void LinkTo(nvml::GpuFacts& gpu, const std::string& bus_id, bool active = true) {
  gpu.links.push_back({static_cast<unsigned>(gpu.links.size()), active, 6U, 0U, bus_id});
}
void LinkToSwitch(nvml::GpuFacts& gpu, const std::string& bus_id = "") {
  gpu.links.push_back({static_cast<unsigned>(gpu.links.size()), true, 6U, 2U, bus_id});
}

TEST(NvLinkIslands, PairsByBridge) {
  std::vector<nvml::GpuFacts> gpus{Gpu("d", "1"), Gpu("c", "2"), Gpu("b", "3"), Gpu("a", "4"), Gpu("e", "5")};
  LinkTo(gpus[0], "2");
  LinkTo(gpus[1], "1");
  LinkTo(gpus[2], "4");  // One end is enough to know.
  LinkTo(gpus[3], "99");
  EXPECT_THAT(NvLinkIslands(gpus), ElementsAre("c", "c", "a", "a", ""));
}

TEST(NvLinkIslands, EverythingOnSwitchesIsOneIsland) {
  std::vector<nvml::GpuFacts> gpus{Gpu("c", "1"), Gpu("a", "2"), Gpu("b", "3")};
  for (auto& gpu : gpus) LinkToSwitch(gpu);
  EXPECT_THAT(NvLinkIslands(gpus), ElementsAre("a", "a", "a"));
}

TEST(NvLinkIslands, DownLinksAndMigDoNotCount) {
  std::vector<nvml::GpuFacts> gpus{Gpu("a", "1"), Gpu("b", "2"), Gpu("c", "3")};
  LinkTo(gpus[0], "2", false);
  LinkToSwitch(gpus[1]);
  LinkToSwitch(gpus[2]);
  gpus[2].mig_enabled = true;
  EXPECT_THAT(NvLinkIslands(gpus), ElementsAre("", "b", ""));
}

TEST(NvLinkIslands, AFabricBeyondTheMachineNamesTheIsland) {
  std::vector<nvml::GpuFacts> gpus{Gpu("a", "1"), Gpu("b", "2"), Gpu("c", "3"), Gpu("d", "4")};
  for (auto& gpu : gpus) LinkToSwitch(gpu);
  const std::string cluster = "11111111-2222-3333-4444-555555555555";
  gpus[0].fabric = gpus[1].fabric = nvml::FabricFacts{3, 0, cluster, 4, std::nullopt};
  gpus[2].fabric = nvml::FabricFacts{3, 999, cluster, 4, std::nullopt};  // Its registration failed …
  gpus[3].fabric = nvml::FabricFacts{3, 0, "00000000-0000-0000-0000-000000000000", 0, std::nullopt};
  EXPECT_THAT(NvLinkIslands(gpus), ElementsAre(cluster + ".4", cluster + ".4", "", "a"));
  gpus[0].fabric->state = 2;  // … and this one is not through yet.
  EXPECT_THAT(NvLinkIslands(gpus), ElementsAre("", cluster + ".4", "", "b"));
}

TEST(NvLinkVersion, IsTheMarketingNumber) {
  EXPECT_EQ(NvLinkVersion(4), "3.0.0");
  EXPECT_EQ(NvLinkVersion(7), "5.0.0");
  EXPECT_EQ(NvLinkVersion(0), "");
  EXPECT_EQ(NvLinkVersion(200), "");
}

}  // namespace
}  // namespace tessera::device
