// What the plugin publishes, and how it behaves towards an API server that misbehaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "driver/slice_plan.h"
#include "tests/node/node.h"

namespace tessera::tests {
namespace {

using driver::TextAt;
using standin::Fault;
using standin::SeenLog;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Slices, BelongToTheNodeAndOnlyTheyAreAskedFor) {
  Node node;
  const auto plugin = node.StartReady();
  const auto slices = node.api().List(kSlicesPath);
  ASSERT_THAT(slices, SizeIs(1));
  const json::Value& owner = slices[0].at("metadata").at("ownerReferences").at(0);
  EXPECT_EQ(TextAt(owner, {"kind"}), "Node");
  EXPECT_EQ(TextAt(owner, {"uid"}), TextAt(node.api().Get("/api/v1/nodes/" + kNodeName).value(), {"metadata", "uid"}));
  EXPECT_EQ(TextAt(slices[0], {"spec", "nodeName"}), kNodeName);
  for (const standin::Seen& seen : node.api().seen().All()) {
    if (seen.method == "GET" && seen.target.contains("/resourceslices")) {
      EXPECT_THAT(seen.target, HasSubstr("spec.nodeName%3D" + kNodeName)) << "a cluster-wide list or watch";
    }
    EXPECT_THAT(seen.user_agent, HasSubstr("tessera-kubelet-plugin/"));
  }
}

TEST(Slices, AreWrittenOnceAndNotAgain) {
  Node node;
  auto plugin = node.StartReady();
  const auto writes = [&] {
    return node.api().seen().Count(
        [](const standin::Seen& seen) { return seen.method != "GET" && seen.target.contains("resourceslices"); });
  };
  EXPECT_EQ(writes(), 1U);
  plugin.reset();
  const auto watches = node.api().seen().Count(SeenLog::Is("GET", "watch="));  // It may have ended before its first.
  plugin = node.Start();
  ASSERT_TRUE(node.WaitRegistered());
  ASSERT_TRUE(node.api().seen().WaitCount(SeenLog::Is("GET", "watch="), watches + 1, kPatience));
  EXPECT_EQ(writes(), 1U);  // A restart finds what it wants.
}

TEST(Slices, ThatSomebodyEditsOrDeletesAreRestored) {
  Node node;
  const auto plugin = node.StartReady();
  const std::string name = TextAt(node.api().List(kSlicesPath).at(0), {"metadata", "name"});
  ASSERT_TRUE(node.api()
                  .Patch(kSlicesPath + "/" + name, json::Object{{"spec", json::Object{{"devices", nullptr}}}})
                  .has_value());
  EXPECT_TRUE(node.WaitPublished(8));
  ASSERT_TRUE(node.api().DeleteCollection(kSlicesPath, "spec.nodeName=" + kNodeName).has_value());
  EXPECT_TRUE(node.WaitPublished(8));
}

TEST(Slices, OfTheGoDriverAreTakenOverInPlace) {
  Node node;
  const json::Value theirs = json::ParseYaml(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-a-gpu.nvidia.com-x7k2p}
spec: {driver: gpu.nvidia.com, nodeName: node-a, pool: {name: node-a, generation: 12, resourceSliceCount: 1}, devices: [{name: gpu-0}]}
)")
                                 .value()
                                 .at(0);
  const std::string uid = TextAt(node.api().Create(kSlicesPath, theirs).value(), {"metadata", "uid"});
  const auto plugin = node.Start();
  ASSERT_TRUE(node.WaitPublished(8));
  const auto slices = node.api().List(kSlicesPath);
  ASSERT_THAT(slices, SizeIs(1));
  EXPECT_EQ(TextAt(slices[0], {"metadata", "uid"}), uid);
  EXPECT_GE(slices[0].at("spec").at("pool").at("generation").as_int64(), 12);
}

TEST(Slices, FollowTheHardware) {
  Node node;
  const auto plugin = node.StartReady();
  ASSERT_TRUE(node.WaitPublished(8));
  // A claim for a device that just appeared makes the plugin look again, and the slices follow.
  node.gpus().Update([](sim::Machine& machine) { machine.gpus.at(3).lost = true; });
  (void)node.Prepare(node.MakeClaim("a", {"gpu-99"}));
  EXPECT_TRUE(Eventually([&] { return node.PublishedDevices() == 7; })) << plugin->Log();
}

TEST(Slices, DroppedTaintsAreNoticedAndTheDeviceIsWithdrawn) {
  Node node;
  node.api().SetWriteHook([](standin::Write& write) {
    if (write.resource != "resourceslices") return;
    json::Value* devices = write.object["spec"].as_object().if_contains("devices");
    if (devices == nullptr || !devices->is_array()) return;
    for (json::Value& device : devices->as_array()) device.as_object().erase("taints");
  });
  const std::string uuid = node.gpus().store().Read().value()->gpus.at(2).uuid;
  node.kubelet().SetPodResources({{"ml", "legacy", "main", "nvidia.com/gpu", {uuid}}});
  const auto plugin = node.Start();
  EXPECT_TRUE(Eventually([&] { return node.PublishedDevices() == 7; })) << plugin->Log();
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "SliceFieldsDropped"));
}

TEST(Slices, ASecondPublisherIsNamedAndNotFought) {
  Node node;
  const auto plugin = node.StartReady();
  const std::string name = TextAt(node.api().List(kSlicesPath).at(0), {"metadata", "name"});
  const auto edit = [&](int round) {
    return node.api().Patch(
        kSlicesPath + "/" + name,
        json::Object{
            {"metadata", json::Object{{"managedFields",
                                       json::Array{json::Object{{"manager", "gpu-kubelet-plugin"},
                                                                {"time", Format("2026-01-01T00:00:0{}Z", round)}}}}}},
            {"spec", json::Object{{"devices", nullptr}}}});
  };
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(node.WaitPublished(8)) << round << plugin->Log();
    ASSERT_TRUE(edit(round).has_value());
  }
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "SecondPublisher")) << plugin->Log();
  EXPECT_THAT(plugin->Log(), HasSubstr("gpu-kubelet-plugin"));
  EXPECT_EQ(node.PublishedDevices(), 0U);  // Left alone.
}

struct Trouble {
  const char* name;
  Fault fault;
};

class SlicesInTrouble : public ::testing::TestWithParam<Trouble> {};

TEST_P(SlicesInTrouble, AreStillPublished) {
  Node node;
  node.api().faults().Add(GetParam().fault);
  const auto plugin = node.Start();
  EXPECT_TRUE(node.WaitRegistered());
  EXPECT_TRUE(node.WaitPublished(8)) << plugin->Log();
}

INSTANTIATE_TEST_SUITE_P(
    Each, SlicesInTrouble,
    ::testing::Values(
        Trouble{"DiscoveryFails", {.method = "GET", .path = "/apis/resource.k8s.io", .times = 2, .status = 503}},
        Trouble{"NodeForbidden", {.method = "GET", .path = "/nodes/", .times = 2, .status = 403}},
        Trouble{"ListThrottled",
                {.method = "GET", .path = "/resourceslices", .times = 2, .status = 429, .retry_after = 1}},
        Trouble{"ListGarbage", {.method = "GET", .path = "/resourceslices", .times = 2, .kind = Fault::Kind::kGarbage}},
        Trouble{"CreateConflict", {.method = "POST", .path = "/resourceslices", .times = 2, .status = 409}},
        Trouble{"CreateFails", {.method = "POST", .path = "/resourceslices", .times = 3, .status = 500}},
        Trouble{"CreateClosed", {.method = "POST", .path = "/resourceslices", .times = 2, .kind = Fault::Kind::kClose}},
        Trouble{
            "CreateAnswerCut",
            {.method = "POST", .path = "/resourceslices", .times = 1, .kind = Fault::Kind::kCloseInBody, .acts = true}},
        Trouble{"WatchGone",
                {.method = "GET", .path = "watch=", .times = 2, .kind = Fault::Kind::kWatchError, .status = 410}},
        Trouble{"WatchClosed", {.method = "GET", .path = "watch=", .times = 2, .kind = Fault::Kind::kClose}}),
    [](const auto& trouble) { return trouble.param.name; });

TEST(Slices, SurviveAWatchThatWasToldGoneAndAServerThatWasAway) {
  Node node;
  const auto plugin = node.StartReady();
  node.api().ForgetHistory();
  node.api().CloseConnections();
  ASSERT_TRUE(node.api().DeleteCollection(kSlicesPath, "spec.nodeName=" + kNodeName).has_value());
  EXPECT_TRUE(node.WaitPublished(8)) << plugin->Log();
  node.api().Pause();
  ASSERT_TRUE(node.api().DeleteCollection(kSlicesPath, "spec.nodeName=" + kNodeName).has_value());
  ASSERT_TRUE(node.api().Resume().has_value());
  EXPECT_TRUE(node.WaitPublished(8)) << plugin->Log();
}

}  // namespace
}  // namespace tessera::tests
