#include "driver/foreign_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::driver {
namespace {

using ::testing::ElementsAre;

TEST(ForeignHolders, AreDevicePluginPodsByUuid) {
  const std::vector<kubelet::PodDevices> pods{
      {.pod_namespace = "ml",
       .pod_name = "b",
       .container = "main",
       .resources = {{"nvidia.com/gpu", {"GPU-2::0", "GPU-2::1"}}, {"example.com/nic", {"GPU-9"}}}},
      {.pod_namespace = "ml",
       .pod_name = "a",
       .container = "main",
       .resources = {{"nvidia.com/mig-1g.10gb", {"MIG-1", "not-a-uuid"}}}}};
  EXPECT_THAT(FindForeignHolders(pods), ElementsAre(ForeignHolder{"GPU-2", "ml/b", "nvidia.com/gpu"},
                                                    ForeignHolder{"MIG-1", "ml/a", "nvidia.com/mig-1g.10gb"}));
}

TEST(ForeignHolders, WithoutAKubeletNobodyHoldsAnything) {
  ForeignHolders foreign("/nonexistent/kubelet.sock");
  EXPECT_FALSE(foreign.Refresh(std::chrono::milliseconds(100)).has_value());
  EXPECT_FALSE(foreign.HolderOf({.gpu_uuid = "GPU-1"}, std::chrono::milliseconds(100)).has_value());
}

}  // namespace
}  // namespace tessera::driver
