// Claims through the plugin's binary: every order in which a kubelet calls (kubelet-contract 2.2 to 2.6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/text.h"
#include "tests/node/node.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Journal(const Node& node) { return ReadFile(node.plugin_dir() / "journal").value_or(""); }

TEST(Claims, ArePreparedWithTheirDevicesAndUnprepared) {
  Node node;
  const auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("train", {"gpu-0", "gpu-3"});
  const auto answer = node.Prepare(claim);
  ASSERT_TRUE(answer.ok()) << answer.error << plugin->Log();
  const auto& devices = answer.claims.at(claim.uid).devices;
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].pool, kNodeName);
  EXPECT_EQ(devices[0].name, "gpu-0");
  EXPECT_THAT(devices[0].requests, ElementsAre("gpu"));
  EXPECT_THAT(devices[0].cdi_ids,
              ElementsAre("k8s.gpu.nvidia.com/claim=" + claim.uid + "-gpu-0", "k8s.gpu.nvidia.com/base=driver"));
  EXPECT_THAT(ReadFile(node.claim_file(claim)).value(), HasSubstr("/dev/nvidia3"));
  EXPECT_TRUE(node.Unprepare(claim).ok());
  EXPECT_THAT(node.CdiFiles(), ElementsAre("k8s.gpu.nvidia.com-base.yaml"));
}

TEST(Claims, OfMigDevicesGetTheirCapabilities) {
  Node node({.profile = "dgx-a100-mig"});
  const auto plugin = node.StartReady();
  std::string mig;
  for (const json::Value& slice : node.api().List(kSlicesPath)) {
    for (const json::Value& device : slice.at("spec").at("devices").as_array()) {
      const std::string name(device.at("name").as_string());
      if (name.contains("-mig-")) mig = name;
    }
  }
  ASSERT_FALSE(mig.empty());
  const auto claim = node.MakeClaim("part", {mig});
  const auto answer = node.Prepare(claim);
  ASSERT_TRUE(answer.ok()) << answer.error;
  EXPECT_THAT(ReadFile(node.claim_file(claim)).value(), HasSubstr("/dev/nvidia-caps/nvidia-cap"));
}

TEST(Claims, RepeatedGiveTheSameAlsoAfterRestarts) {
  Node node;
  auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  const auto first = node.Prepare(claim);
  ASSERT_TRUE(first.ok()) << first.error;
  const auto same = [&](const Kubelet::Answer& answer) {
    return answer.ok() &&
           answer.claims.at(claim.uid).devices.at(0).cdi_ids == first.claims.at(claim.uid).devices.at(0).cdi_ids;
  };
  EXPECT_TRUE(same(node.Prepare(claim)));
  plugin.reset();  // kill -9
  plugin = node.StartReady();
  ASSERT_TRUE(Eventually([&] { return same(node.Prepare(claim)); }));
  node.kubelet().Restart();
  ASSERT_TRUE(node.WaitRegistered());
  EXPECT_TRUE(same(node.Prepare(claim)));
}

TEST(Claims, AfterARebootAreSetUpAgain) {
  Node node;
  const fs::path boot = node.driver_root() / "proc/sys/kernel/random";
  fs::create_directories(boot);
  ASSERT_TRUE(ReplaceFile(boot / "boot_id", "boot-1\n").has_value());
  auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  plugin.reset();
  fs::remove_all(node.cdi_dir());  // tmpfs
  fs::create_directories(node.cdi_dir());
  ASSERT_TRUE(ReplaceFile(boot / "boot_id", "boot-2\n").has_value());
  plugin = node.StartReady();
  ASSERT_TRUE(Eventually([&] { return fs::exists(node.claim_file(claim)); }));  // Restarting containers need it.
  ASSERT_TRUE(node.Prepare(claim).ok());
  EXPECT_THAT(Journal(node), HasSubstr("boot-2"));
}

TEST(Claims, LostCdiFilesComeBack) {
  Node node;
  auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  fs::remove(node.claim_file(claim));
  fs::remove(node.cdi_dir() / "k8s.gpu.nvidia.com-base.yaml");
  ASSERT_TRUE(node.Prepare(claim).ok());
  EXPECT_THAT(node.CdiFiles(), SizeIs(2));
}

TEST(Claims, AreRebuiltFromTheirFilesBeforeAnythingIsServed) {
  Node node;
  auto plugin = node.StartReady();
  const auto first = node.MakeClaim("first", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(first).ok());
  plugin.reset();
  ASSERT_TRUE(fs::remove(node.plugin_dir() / "journal"));
  node.api().faults().Add({.method = "GET", .path = "/resourceclaims/first", .times = -1});  // Nobody can confirm it.
  plugin = node.StartReady();
  const auto refused = node.Prepare(node.MakeClaim("second", {"gpu-0"}));
  EXPECT_THAT(refused.error, HasSubstr("gpu-0 is prepared for claim default/first"));
}

TEST(Claims, SeveralInOneCallAreAnsweredEach) {
  Node node;
  const auto plugin = node.StartReady({"--permanent-errors=kep5322"});
  const auto good = node.MakeClaim("good", {"gpu-0"});
  const auto bad = node.MakeClaim("bad", {"gpu-77"});
  const auto both = node.kubelet().Prepare(kDriver, {good, bad});
  EXPECT_FALSE(both.ok());
  EXPECT_THAT(both.claims.at(good.uid).error, IsEmpty());
  EXPECT_THAT(both.claims.at(bad.uid).error, HasSubstr("gpu-77"));
  EXPECT_TRUE(both.claims.at(bad.uid).permanent);
  EXPECT_TRUE(node.kubelet().Unprepare(kDriver, {good, bad}).ok());
}

TEST(Claims, SharedByPodsThatStartTogetherArePreparedOnce) {
  Node node;
  const auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("shared", {"gpu-0"});
  std::vector<std::future<bool>> pods;
  for (int i = 0; i < 8; ++i) pods.push_back(std::async(std::launch::async, [&] { return node.Prepare(claim).ok(); }));
  for (auto& pod : pods) EXPECT_TRUE(pod.get());
  const std::string journal = Journal(node);
  EXPECT_EQ(journal.find("\"op\":\"start\""), journal.rfind("\"op\":\"start\"")) << journal;
}

TEST(Claims, PreparingAndUnpreparingOneAtTheSameTimeEndsInOneState) {
  Node node;
  const auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  for (int round = 0; round < 10; ++round) {
    auto prepare = std::async(std::launch::async, [&] { return node.Prepare(claim).ok(); });
    auto unprepare = std::async(std::launch::async, [&] { return node.Unprepare(claim).ok(); });
    EXPECT_TRUE(prepare.get());
    EXPECT_TRUE(unprepare.get());
  }
  EXPECT_TRUE(node.Unprepare(claim).ok());
  EXPECT_THAT(node.CdiFiles(), ElementsAre("k8s.gpu.nvidia.com-base.yaml"));
}

TEST(Claims, UnprepareNeedsNoPrepareAndNoClaim) {
  Node node;
  const auto plugin = node.StartReady();
  EXPECT_TRUE(node.Unprepare({"default", "never", "00000000-0000-0000-0000-000000000001"}).ok());
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  node.DeleteClaim(claim);  // Force-deleted: only the name and the UID are left.
  EXPECT_TRUE(node.Unprepare(claim).ok());
  EXPECT_TRUE(node.Unprepare(claim).ok());
}

TEST(Claims, OneDeviceHasOneOwner) {
  Node node;
  const auto plugin = node.StartReady();
  const auto first = node.MakeClaim("first", {"gpu-0"});
  const auto second = node.MakeClaim("second", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(first).ok());
  const auto refused = node.Prepare(second);
  EXPECT_THAT(refused.error, HasSubstr("gpu-0 is prepared for claim default/first (pod default/pod-first)"));
  EXPECT_FALSE(refused.claims.at(second.uid).permanent);  // It goes away with the other pod.
  EXPECT_TRUE(node.WaitForEvent("second", "DeviceInUse"));
  EXPECT_TRUE(node.Unprepare(first).ok());
  EXPECT_TRUE(node.Prepare(second).ok());
  EXPECT_TRUE(node.WaitForEvent("second", "ClaimPrepared"));
}

TEST(Claims, FirstAvailableAdminAccessSharesAndOtherDrivers) {
  Node node;
  const auto plugin = node.StartReady();
  const auto claim = node.MakeClaim(
      {.name = "mixed",
       .devices = {{.request = "main/small", .pool = kNodeName, .device = "gpu-1"},
                   {.request = "watch", .pool = kNodeName, .device = "gpu-2", .admin_access = true},
                   {.request = "part",
                    .pool = kNodeName,
                    .device = "gpu-3",
                    .share_id = "11111111-2222-3333-4444-555555555555"},
                   {.request = "nic", .driver = "nic.example.com", .pool = kNodeName, .device = "eth0"}}});
  const auto answer = node.Prepare(claim);
  ASSERT_TRUE(answer.ok()) << answer.error;
  const auto& devices = answer.claims.at(claim.uid).devices;
  ASSERT_THAT(devices, SizeIs(3));
  EXPECT_THAT(devices[0].requests, ElementsAre("main"));
  EXPECT_EQ(devices[2].share_id, "11111111-2222-3333-4444-555555555555");
  // Admin access did not take gpu-2.
  EXPECT_TRUE(node.Prepare(node.MakeClaim("owner", {"gpu-2"})).ok());
}

TEST(Claims, OpaqueConfigsAreServedOrRefusedClearly) {
  Node node;
  const auto plugin = node.StartReady({"--permanent-errors=kep5322"});
  const auto config = [](std::string_view rest) {
    return json::ParseYaml(Format("{{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig{}}}", rest))
        .value()
        .at(0);
  };
  const auto claim_with = [&](const std::string& name, json::Value parameters) {
    return node.MakeClaim({.name = name,
                           .devices = {{.pool = kNodeName, .device = "gpu-0"}},
                           .configs = {{.parameters = std::move(parameters)}}});
  };
  const auto plain =
      claim_with("plain", config(", sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Default}}"));
  EXPECT_TRUE(node.Prepare(plain).ok());
  EXPECT_TRUE(node.Unprepare(plain).ok());
  const auto mps = node.Prepare(claim_with("mps", config(", sharing: {strategy: MPS}")));
  EXPECT_THAT(mps.error, HasSubstr("MPS"));
  EXPECT_TRUE(mps.claims.begin()->second.permanent);
  const auto typo = node.Prepare(claim_with("typo", config(", shareing: {}")));
  EXPECT_THAT(typo.error, HasSubstr("shareing: unknown field"));
  EXPECT_TRUE(node.WaitForEvent("typo", "BadDeviceConfig"));
}

TEST(Claims, ReplacedUnallocatedAndMissingOnesAreNamed) {
  Node node;
  const auto plugin = node.StartReady();
  auto claim = node.MakeClaim("a", {"gpu-0"});
  claim.uid = "00000000-0000-0000-0000-000000000009";
  EXPECT_THAT(node.Prepare(claim).error, HasSubstr("was replaced"));
  EXPECT_THAT(node.Prepare({"default", "nobody", claim.uid}).error, HasSubstr("does not exist"));
  EXPECT_THAT(node.Prepare(node.MakeClaim("waiting", {})).error, HasSubstr("no devices allocated"));
}

TEST(Claims, OverV1beta1AndOlderResourceApisAreTheSame) {
  Node node({.release = Kubelet::Release::k1_34, .versions = {"v1beta1"}});
  const auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  EXPECT_TRUE(node.Prepare(claim).ok());
  EXPECT_TRUE(node.Unprepare(claim).ok());
}

TEST(Claims, AGhostDoesNotKeepItsDevice) {
  Node node;
  const auto plugin = node.StartReady();
  const auto ghost = node.MakeClaim("ghost", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(ghost).ok());
  node.DeleteClaim(ghost);  // And the kubelet forgot it, too.
  const auto next = node.MakeClaim("next", {"gpu-0"});
  // Not at once: its answered Prepare may still be noting that it is complete.
  EXPECT_TRUE(Eventually([&] { return node.Prepare(next).ok(); })) << plugin->Log();
  EXPECT_FALSE(fs::exists(node.claim_file(ghost)));
}

TEST(Claims, OrphansAndStrayFilesAreGoneAfterARestart) {
  Node node;
  auto plugin = node.StartReady();
  const auto orphan = node.MakeClaim("orphan", {"gpu-0"});
  const auto alive = node.MakeClaim("alive", {"gpu-1"});
  ASSERT_TRUE(node.Prepare(orphan).ok());
  ASSERT_TRUE(node.Prepare(alive).ok());
  const std::string kept = ReadFile(node.claim_file(alive)).value();
  plugin.reset();
  node.DeleteClaim(orphan);
  plugin = node.StartReady();
  EXPECT_TRUE(Eventually([&] { return !fs::exists(node.claim_file(orphan)); })) << plugin->Log();
  EXPECT_EQ(ReadFile(node.claim_file(alive)).value(), kept);
}

TEST(Claims, AreNotAskedForAgainWhileNothingHappens) {
  Node node;
  const auto plugin = node.StartReady();
  ASSERT_TRUE(node.Prepare(node.MakeClaim("a", {"gpu-0"})).ok());
  const auto asked = standin::SeenLog::Is("GET", "/resourceclaims/a");
  const std::size_t before = node.api().seen().Count(asked);
  // Once more is well: how its devices are is compared with what it says.
  EXPECT_FALSE(node.api().seen().WaitCount(asked, before + 2, std::chrono::seconds(3)));
}

TEST(Claims, AJournalThatIsGoneIsRebuiltFromCdiFiles) {
  Node node;
  auto plugin = node.StartReady();
  const auto claim = node.MakeClaim("a", {"gpu-0"});
  ASSERT_TRUE(node.Prepare(claim).ok());
  plugin.reset();
  fs::remove(node.plugin_dir() / "journal");
  plugin = node.StartReady();
  ASSERT_TRUE(plugin->WaitForLog("Rebuilt a claim from its CDI file"));
  EXPECT_THAT(node.Prepare(node.MakeClaim("thief", {"gpu-0"})).error, HasSubstr("is prepared for claim default/a"));
  EXPECT_TRUE(node.Unprepare(claim).ok());
}

}  // namespace
}  // namespace tessera::tests
