// Living next to others on the node: the Go driver, before and after us, and NVIDIA's device plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "driver/slice_plan.h"
#include "journal/checkpoint.h"
#include "kubelet/plugin_server.h"
#include "tests/node/node.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using driver::TextAt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A driver of our name that is not ours, at the Go driver's socket names.
class GoDriver final : public kubelet::ClaimHandler {
 public:
  explicit GoDriver(const Node& node) {
    fs::create_directories(node.plugin_dir());
    server_ = kubelet::PluginServer::Start(
                  {.driver_name = kDriver, .registry = node.registry(), .directory = node.plugin_dir()}, *this)
                  .value();
    server_->Register().value();
  }
  void Prepare(std::vector<api::ClaimRef>, kubelet::Deadline, kubelet::Done done) override { done({}, {}); }
  void Unprepare(std::vector<api::ClaimRef>, kubelet::Deadline, kubelet::Done done) override { done({}, {}); }

 private:
  std::unique_ptr<kubelet::PluginServer> server_;
};

TEST(AnotherDriver, IsNamedLeftAloneAndFollowedWithinSeconds) {
  Node node;
  auto go = std::make_unique<GoDriver>(node);
  ASSERT_TRUE(node.WaitRegistered());
  const auto plugin = node.Start({"--pod-uid=11111111-0000-0000-0000-000000000001"});
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "AnotherDriver")) << plugin->Log();
  EXPECT_THAT(node.kubelet().Instances(kDriver), SizeIs(1));
  EXPECT_EQ(node.PublishedDevices(), 0U);
  go.reset();
  EXPECT_TRUE(Eventually(
      [&] {
        const auto instances = node.kubelet().Instances(kDriver);
        return instances.size() == 1 && instances[0].endpoint.contains("11111111");
      },
      std::chrono::seconds(5)))
      << plugin->Log();
  EXPECT_TRUE(node.WaitPublished(8));
}

TEST(AnotherDriver, ThatComesLaterMakesUsStandBack) {
  Node node;
  const auto plugin = node.StartReady({"--pod-uid=11111111-0000-0000-0000-000000000001"});
  const GoDriver go(node);
  EXPECT_TRUE(plugin->WaitForLog("another process serves gpu.nvidia.com"));
  EXPECT_TRUE(Eventually([&] {
    const auto instances = node.kubelet().Instances(kDriver);
    return instances.size() == 1 && !instances[0].endpoint.contains("11111111");
  }));
}

// What the Go driver leaves for a pod that runs: a checkpoint and its CDI file.
Kubelet::Claim LeaveGoClaim(Node& node, const std::string& name) {
  const auto claim = node.MakeClaim(name, {"gpu-0"});
  const std::string uuid = node.gpus().store().Read().value()->gpus.at(0).uuid;
  const std::string id = Format("k8s.gpu.nvidia.com/claim={}-gpu-0", claim.uid);
  fs::create_directories(node.plugin_dir());
  EXPECT_TRUE(
      ReplaceFile(
          node.plugin_dir() / "checkpoint.json",
          Format(
              R"({{"checksum":1,"v1":{{"preparedClaims":{{}}}},"v2":{{"checksum":2,"preparedClaims":{{"{}":{{"checkpointState":"PrepareCompleted","status":{{"allocation":{{"devices":{{"results":[{{"request":"gpu","driver":"gpu.nvidia.com","pool":"node-a","device":"gpu-0","adminAccess":null}}]}}}}}},"preparedDevices":[{{"devices":[{{"gpu":{{"info":{{"uuid":"{}"}},"device":{{"Requests":["gpu"],"PoolName":"node-a","DeviceName":"gpu-0","CDIDeviceIDs":["{}"]}}}},"mig":null}}],"configState":{{}}}}],"name":"","namespace":""}}}},"nodeBootID":""}}}})",
              claim.uid, uuid, id))
          .has_value());
  EXPECT_TRUE(
      ReplaceFile(node.claim_file(claim), Format("cdiVersion: 0.5.0\nkind: k8s.gpu.nvidia.com/claim\ndevices:\n- name: "
                                                 "{}-gpu-0\n  containerEdits: {{env: [A=b]}}\n",
                                                 claim.uid))
          .has_value());
  return claim;
}

TEST(TheGoDriversClaims, BecomeOursAndTheirPodsKeepRunning) {
  Node node;
  const auto claim = LeaveGoClaim(node, "running");
  const std::string file = ReadFile(node.claim_file(claim)).value();
  const auto plugin = node.StartReady();
  EXPECT_TRUE(plugin->WaitForLog("Took over from the Go driver"));
  EXPECT_EQ(ReadFile(node.claim_file(claim)).value(), file);  // A restarting container resolves it again.
  EXPECT_THAT(node.Prepare(node.MakeClaim("thief", {"gpu-0"})).error, HasSubstr("gpu-0 is prepared"));
  const auto answer = node.Prepare(claim);
  ASSERT_TRUE(answer.ok()) << answer.error;
  EXPECT_EQ(answer.claims.at(claim.uid).devices.at(0).cdi_ids.at(0),
            Format("k8s.gpu.nvidia.com/claim={}-gpu-0", claim.uid));
  EXPECT_TRUE(node.Unprepare(claim).ok());
  EXPECT_FALSE(fs::exists(node.claim_file(claim)));
}

TEST(TheGoDriversClaims, FindAllTheirCdiDevicesAgainWhenTheFilesAreLost) {
  Node node;
  const auto claim = LeaveGoClaim(node, "running");
  std::string checkpoint = ReadFile(node.plugin_dir() / "checkpoint.json").value();
  const std::string ids = "\"CDIDeviceIDs\":[";  // Up to v25.8.1 there were two.
  checkpoint.insert(checkpoint.find(ids) + ids.size(), "\"k8s.gpu.nvidia.com/device=gpu-0\",");
  ASSERT_TRUE(ReplaceFile(node.plugin_dir() / "checkpoint.json", checkpoint).has_value());
  fs::remove(node.claim_file(claim));
  const auto plugin = node.StartReady();
  const fs::path file = node.cdi_dir() / "k8s.gpu.nvidia.com-device_base.yaml";
  EXPECT_TRUE(Eventually([&] { return fs::exists(file); })) << plugin->Log();
  EXPECT_THAT(ReadFile(file).value(), HasSubstr("name: gpu-0"));
  EXPECT_THAT(ReadFile(node.claim_file(claim)).value(), HasSubstr("/dev/nvidia0"));
}

TEST(TheGoDriversClaims, ThatWeCannotUndoAreRefusedByName) {
  Node node;
  const auto claim = LeaveGoClaim(node, "mps");
  std::string checkpoint = ReadFile(node.plugin_dir() / "checkpoint.json").value();
  checkpoint.replace(checkpoint.find("\"configState\":{}"), 16, "\"configState\":{\"mpsControlDaemonID\":\"x-abcde\"}");
  ASSERT_TRUE(ReplaceFile(node.plugin_dir() / "checkpoint.json", checkpoint).has_value());
  const auto plugin = node.Start();
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "UnservedClaims")) << plugin->Log();
  EXPECT_THAT(plugin->Log(), HasSubstr(claim.uid));
  EXPECT_THAT(node.kubelet().Instances(kDriver), SizeIs(0));
}

TEST(GoingBack, FindsACurrentCheckpoint) {
  Node node;
  const auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  const auto holds = [&](std::size_t claims) {
    return Eventually([&] {
      const auto checkpoint = journal::ReadCheckpoint(ReadFile(node.plugin_dir() / "checkpoint.json").value_or(""));
      return checkpoint && checkpoint->claims.size() == claims && checkpoint->checksum_matches;
    });
  };
  EXPECT_TRUE(holds(1));
  ASSERT_TRUE(node.Unprepare(claim).ok());
  plugin->Signal(SIGTERM);  // Written at exit at the latest.
  EXPECT_EQ(plugin->Wait(), 0);
  EXPECT_TRUE(holds(0));
}

TEST(ADevicePlugin, KeepsItsGpusAndIsNamed) {
  Node node;
  const std::string uuid = node.gpus().store().Read().value()->gpus.at(2).uuid;
  node.kubelet().SetPodResources({{"ml", "legacy", "main", "nvidia.com/gpu", {uuid + "::1"}}});
  const auto plugin = node.StartReady();
  const auto tainted = [&] {
    for (const json::Value& slice : node.api().List(kSlicesPath)) {
      for (const json::Value& device : slice.at("spec").at("devices").as_array()) {
        if (TextAt(device, {"name"}) == "gpu-2") return device.as_object().contains("taints");
      }
    }
    return false;
  };
  ASSERT_TRUE(Eventually(tainted)) << plugin->Log();
  const auto refused = node.Prepare(node.MakeClaim("a", {"gpu-2"}));
  EXPECT_THAT(refused.error, HasSubstr("gpu-2 is held by pod ml/legacy through nvidia.com/gpu"));
  node.kubelet().SetPodResources({});
  EXPECT_TRUE(Eventually([&] { return !tainted(); }));
}

TEST(ADevicePlugin, ThatHoldsAClaimsGpuIsAConflictOnBothSides) {
  Node node;
  const auto plugin = node.StartReady();
  ASSERT_TRUE(node.Prepare(node.MakeClaim("a", {"gpu-2"})).ok());
  const std::string uuid = node.gpus().store().Read().value()->gpus.at(2).uuid;
  node.kubelet().SetPodResources({{"ml", "legacy", "main", "nvidia.com/gpu", {uuid}}});
  EXPECT_TRUE(node.WaitForEvent("a", "DeviceConflict")) << plugin->Log();
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "DeviceConflict"));
}

TEST(ADevicePlugin, CanBeLeftSomeGpusForGood) {
  Node node;
  const auto plugin = node.StartReady({"--exclude-devices=0,1"});
  EXPECT_TRUE(Eventually([&] { return node.PublishedDevices() == 6; }));
  EXPECT_THAT(node.Prepare(node.MakeClaim("a", {"gpu-0"})).error, HasSubstr("--exclude-devices"));
}

TEST(ComputeDomains, AreNotTouched) {
  Node node;
  const fs::path file = node.cdi_dir() / "k8s.compute-domain.nvidia.com-claim_0a.yaml";
  ASSERT_TRUE(ReplaceFile(file, "kind: x\n").has_value());
  const json::Value slice = json::ParseYaml(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: cd}
spec: {driver: compute-domain.nvidia.com, nodeName: node-a, pool: {name: node-a, generation: 1, resourceSliceCount: 1}}
)")
                                .value()
                                .at(0);
  const json::Value before = node.api().Create(kSlicesPath, slice).value();
  const auto plugin = node.StartReady();
  EXPECT_EQ(node.api().Get(kSlicesPath + "/cd").value(), before);
  EXPECT_EQ(ReadFile(file).value(), "kind: x\n");
}

}  // namespace
}  // namespace tessera::tests
