// A claim that fails because of its device takes that device away from the next claim, before the kubelet hears of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/node/health_node.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using standin::Fault;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

fs::path DeviceNode(const Node& node, int minor) { return node.driver_root() / Format("dev/nvidia{}", minor); }

TEST(DeviceFaults, TheTaintIsAtTheApiServerBeforeTheErrorIsAnswered) {
  HealthNode node;
  const auto plugin = node.StartReady();
  ASSERT_TRUE(fs::remove(DeviceNode(node, 0)));
  const auto refused = node.Prepare(node.MakeClaim("a", {"gpu-0"}));
  EXPECT_THAT(refused.error, HasSubstr("DeviceNodeMissing"));
  EXPECT_THAT(node.TaintsOf("gpu-0"), ElementsAre("gpu.nvidia.com/gpu-lost=:NoSchedule")) << plugin->Log();
  EXPECT_THAT(node.TaintsOf("gpu-1"), IsEmpty());
  EXPECT_TRUE(node.Prepare(node.MakeClaim("b", {"gpu-1"})).ok());
}

TEST(DeviceFaults, TheErrorDoesNotWaitForAServerThatDoesNotWriteAndTheTaintFollows) {
  HealthNode node;
  const auto plugin = node.StartReady();
  ASSERT_TRUE(fs::remove(DeviceNode(node, 0)));
  const auto hang =
      node.api().faults().Add({.method = "PUT", .path = "/resourceslices/", .times = -1, .kind = Fault::Kind::kHang});
  const auto refused = node.Prepare(node.MakeClaim("a", {"gpu-0"}));
  EXPECT_THAT(refused.error, HasSubstr("DeviceNodeMissing"));
  EXPECT_THAT(node.TaintsOf("gpu-0"), IsEmpty());
  node.api().faults().Remove(hang);
  EXPECT_TRUE(Eventually([&] { return !node.TaintsOf("gpu-0").empty(); })) << plugin->Log();
}

TEST(DeviceFaults, WhenTheFaultIsGoneTheClaimIsPrepared) {
  HealthNode node;
  const auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  fs::rename(DeviceNode(node, 0), DeviceNode(node, 0).string() + ".away");
  ASSERT_FALSE(node.Prepare(claim).ok());
  ASSERT_FALSE(node.Prepare(claim).ok());
  fs::rename(DeviceNode(node, 0).string() + ".away", DeviceNode(node, 0));
  EXPECT_TRUE(Eventually([&] { return node.Prepare(claim).ok(); })) << plugin->Log();
}

TEST(ConfigFaults, AHundredPodsOfOneTemplateCostOneLookAndNoTaint) {
  HealthNode node;
  const std::uint16_t port = Node::FreePort();
  const auto plugin = node.StartReady({Format("--http-endpoint=127.0.0.1:{}", port)});
  const auto make = [&](int i) {
    return node.MakeClaim({.name = Format("pod-{}", i),
                           .devices = {{.pool = kNodeName, .device = "gpu-0"}},
                           .configs = {{.parameters = json::Object{{"apiVersion", "resource.nvidia.com/v1beta1"},
                                                                   {"kind", "GpuConfig"},
                                                                   {"shareing", json::Object()},
                                                                   {"sharing", json::Object{{"strategy", "Fast"}}}}}}});
  };
  const auto journal_size = [&] {
    std::error_code none;  // It is made with the first record.
    const auto size = fs::file_size(node.plugin_dir() / "journal", none);
    return none ? 0 : size;
  };
  const auto before = journal_size();
  const auto is_read = standin::SeenLog::Is("GET", "/resourceclaims/pod-");
  for (int i = 0; i < 100; ++i) {
    const auto refused = node.Prepare(make(i));
    ASSERT_THAT(refused.error, HasSubstr("request "));
    EXPECT_THAT(refused.error, HasSubstr("shareing: unknown field"));
    EXPECT_THAT(refused.error, HasSubstr("sharing.strategy: \"Fast\""));
  }
  EXPECT_EQ(node.api().seen().Count(is_read), 100U);
  EXPECT_EQ(journal_size(), before);
  EXPECT_THAT(Node::HttpGet(port, "/metrics"), HasSubstr("tessera_prepare_refused_again_total 99"));
  EXPECT_THAT(node.TaintsOf("gpu-0"), IsEmpty());
  EXPECT_TRUE(node.WaitForEvent("pod-0", "BadDeviceConfig"));
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "BadDeviceConfig"));
}

}  // namespace
}  // namespace tessera::tests
