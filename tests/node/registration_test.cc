// Registration, sockets, shutdown and hand-over, as kubelet-contract 1.4, 1.5 and 5.3 have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <thread>

#include "journal/leases.h"
#include "tests/node/node.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Sockets(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_socket()) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

void LeaveStaleSocket(const fs::path& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::ranges::copy(path.native(), address.sun_path);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

TEST(Registration, ComesWithTheServicesAndTheEndpointOfTheContract) {
  Node node;
  const auto plugin = node.StartReady();
  const auto instances = node.kubelet().Instances(kDriver);
  ASSERT_THAT(instances, SizeIs(1));
  EXPECT_EQ(instances[0].service, "v1.DRAPlugin");
  EXPECT_EQ(instances[0].health_service, "v1.DRAResourceHealth");
  EXPECT_EQ(instances[0].endpoint, (node.plugin_dir() / "dra.sock").string());
  EXPECT_THAT(Sockets(node.registry()), Contains("gpu.nvidia.com-reg.sock"));
  EXPECT_TRUE(plugin->WaitForLog("Serving the kubelet"));
}

TEST(Registration, IsRepeatedAfterAKubeletRestart) {
  Node node;
  const auto plugin = node.StartReady();
  node.kubelet().Restart();  // Also deletes all slices of the node.
  EXPECT_TRUE(node.WaitRegistered());
  EXPECT_TRUE(node.WaitPublished(8));
}

TEST(Registration, ARefusalIsLoggedInTheKubeletsWordsAndTriedAgain) {
  Node node({.release = Kubelet::Release::k1_34});  // There only a new socket helps.
  node.kubelet().Refuse("endpoint is already taken");
  const auto plugin = node.Start();
  EXPECT_TRUE(plugin->WaitForLog("endpoint is already taken"));
  node.kubelet().Refuse("");
  EXPECT_TRUE(node.WaitRegistered());
  EXPECT_TRUE(node.WaitForEvent(kNodeName, "RegistrationRefused"));
}

TEST(Registration, StaleSocketsAreRemovedAndOthersAreNot) {
  Node node;
  fs::create_directories(node.plugin_dir());
  LeaveStaleSocket(node.registry() / "gpu.nvidia.com-dead-reg.sock");
  LeaveStaleSocket(node.registry() / "gpu.nvidia.com-reg.sock");
  LeaveStaleSocket(node.plugin_dir() / "dra-dead.sock");
  LeaveStaleSocket(node.registry() / "compute-domain.nvidia.com-reg.sock");
  const auto plugin = node.StartReady();
  EXPECT_THAT(Sockets(node.registry()),
              ::testing::ElementsAre("compute-domain.nvidia.com-reg.sock", "gpu.nvidia.com-reg.sock"));
  EXPECT_THAT(Sockets(node.plugin_dir()), ::testing::Not(Contains("dra-dead.sock")));
}

TEST(Shutdown, UnregistersFinishesCallsAndLeavesTheSlices) {
  Node node;
  const auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("slow", {"gpu-0"});
  const auto fault =
      node.api().faults().Add({.method = "GET", .path = "/resourceclaims/slow", .kind = standin::Fault::Kind::kHang});
  std::atomic<bool> ok = false;
  std::jthread pod([&] { ok = node.Prepare(claim).ok(); });
  ASSERT_TRUE(node.api().faults().WaitHanging(1, kPatience));
  plugin->Signal(SIGTERM);
  EXPECT_TRUE(Eventually([&] { return !fs::exists(node.registry() / "gpu.nvidia.com-reg.sock"); }));
  node.api().faults().Remove(fault);
  pod.join();
  EXPECT_TRUE(ok) << plugin->Log();
  EXPECT_EQ(plugin->Wait(), 0);
  EXPECT_EQ(node.PublishedDevices(), 8U);
  EXPECT_THAT(Sockets(node.plugin_dir()), IsEmpty());
}

TEST(Handover, TwoVersionsSideBySideAndNoCallFails) {
  Node node;
  auto old = node.StartReady({"--pod-uid=11111111-0000-0000-0000-000000000001"});
  const auto kept = node.MakeClaim("kept", {"gpu-7"});
  ASSERT_TRUE(node.Prepare(kept).ok());
  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;
  std::vector<std::string> failures;
  std::jthread load([&] {
    for (int i = 0; !stop; ++i) {
      const auto claim = node.MakeClaim("load-" + std::to_string(i), {"gpu-0"});
      const auto prepared = node.Prepare(claim);
      const auto unprepared = node.Unprepare(claim);
      if (!prepared.ok()) failures.push_back(prepared.error);
      if (!unprepared.ok()) failures.push_back(unprepared.error);
      ++calls;
    }
  });
  auto young = node.Start({"--pod-uid=22222222-0000-0000-0000-000000000002"});
  ASSERT_TRUE(node.WaitRegistered(2)) << young->Log();
  const int before = calls;
  ASSERT_TRUE(Eventually([&] { return calls > before + 3; }));
  old->Signal(SIGTERM);
  EXPECT_EQ(old->Wait(), 0);
  const int after = calls;
  ASSERT_TRUE(Eventually([&] { return calls > after + 3; }));
  stop = true;
  load.join();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_TRUE(node.Unprepare(kept).ok());  // Prepared by the old one.
  // The young one publishes now.
  ASSERT_TRUE(node.api().DeleteCollection(kSlicesPath, "spec.nodeName=" + kNodeName).has_value());
  EXPECT_TRUE(node.WaitPublished(8)) << young->Log();
}

TEST(Handover, OneOfTwoPublishes) {
  Node node;
  const auto first = node.StartReady({"--pod-uid=11111111-0000-0000-0000-000000000001"});
  const auto second = node.Start({"--pod-uid=22222222-0000-0000-0000-000000000002"});
  ASSERT_TRUE(node.WaitRegistered(2));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(node.api().DeleteCollection(kSlicesPath, "spec.nodeName=" + kNodeName).has_value());
    ASSERT_TRUE(node.WaitPublished(8));
    EXPECT_THAT(node.api().List(kSlicesPath), SizeIs(1));
  }
}

TEST(Handover, OthersStartAlsoWhenTheLeaderBeforeLetGoLate) {
  Node node;
  fs::create_directories(node.plugin_dir());
  journal::Leases leases(node.plugin_dir() / "leases");
  auto held = leases.TryAcquire("adopted");  // As an instance that led and is about to end.
  ASSERT_TRUE(held && held->has_value());
  const auto first = node.StartReady({"--pod-uid=11111111-0000-0000-0000-000000000001"});
  held->reset();
  const auto second = node.Start({"--pod-uid=22222222-0000-0000-0000-000000000002"});
  EXPECT_TRUE(node.WaitRegistered(2)) << second->Log();
}

// Such as the pod of a DaemonSet that was removed while nobody removed its pods.
TEST(Handover, AnInstanceThatTheServerDoesNotKnowAnyMoreLetsTheOtherLead) {
  Node node;
  const auto first = node.StartReady({"--pod-uid=11111111-0000-0000-0000-000000000001"});
  node.api().AcceptTokens({"young", "standin-token"});
  ASSERT_TRUE(node.api().WriteKubeconfig(node.dir() / "kubeconfig").has_value());  // The first has read it.
  const auto second = node.Start({"--pod-uid=22222222-0000-0000-0000-000000000002"});
  ASSERT_TRUE(node.WaitRegistered(2)) << second->Log();
  node.api().SetToken("young");
  ASSERT_TRUE(node.api().DeleteCollection(kSlicesPath, "spec.nodeName=" + kNodeName).has_value());
  EXPECT_TRUE(node.WaitPublished(8)) << first->Log() << second->Log();
}

TEST(Handover, AKilledInstanceIsReplacedByTheOther) {
  Node node;
  auto first = node.StartReady({"--pod-uid=11111111-0000-0000-0000-000000000001"});
  const auto second = node.Start({"--pod-uid=22222222-0000-0000-0000-000000000002"});
  ASSERT_TRUE(node.WaitRegistered(2));
  first.reset();  // kill -9, in the middle of anything
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  EXPECT_TRUE(Eventually([&] { return node.Prepare(claim).ok(); }));
  ASSERT_TRUE(node.api().DeleteCollection(kSlicesPath, "spec.nodeName=" + kNodeName).has_value());
  EXPECT_TRUE(node.WaitPublished(8));
}

}  // namespace
}  // namespace tessera::tests
