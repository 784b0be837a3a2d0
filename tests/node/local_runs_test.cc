// `tessera run` on a node whose plugin serves pods: one GPU, one owner, over both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <memory>
#include <set>

#include "base/text.h"
#include "tests/node/health_node.h"
#include "tests/support/program.h"

namespace tessera::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kTaint = "gpu.nvidia.com/local-run";

// A run of `count` GPUs that says which and stays.
std::unique_ptr<Program> StartRun(Node& node, int count) {
  const auto file = node.dir() / "claim.yaml";
  EXPECT_TRUE(ReplaceFile(file, Format(R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: local}}
spec:
  devices:
    requests:
    - name: gpus
      exactly: {{deviceClassName: gpu.nvidia.com, count: {}}}
)",
                                       count))
                  .has_value());
  return std::make_unique<Program>(
      "tessera",
      std::vector<std::string>{"run", "-f", file, "--driver-root", node.driver_root(), "--sysfs-root",
                               node.driver_root() / "sys", "--state-dir", node.plugin_dir(), "--cdi-dir",
                               node.cdi_dir(), "--machine-leases", node.dir() / "machine-leases", "--runtime", "none",
                               "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; exec sleep 1000"});
}

std::string UuidOf(Node& node, const std::string& name) {
  for (const json::Value& slice : node.api().List(kSlicesPath)) {
    for (const json::Value& device : slice.at("spec").at("devices").as_array()) {
      if (device.at("name").as_string() != name) continue;
      return std::string(device.at("attributes").at("uuid").at("string").as_string());
    }
  }
  return {};
}

std::size_t Tainted(Node& node) {
  std::size_t tainted = 0;
  for (const json::Value& slice : node.api().List(kSlicesPath)) {
    for (const json::Value& device : slice.at("spec").at("devices").as_array()) {
      if (json::PrintJson(device).contains(kTaint)) ++tainted;
    }
  }
  return tainted;
}

TEST(LocalRuns, HoldTheirGpusAgainstPodsAndPodsAgainstRuns) {
  Node node;
  const auto plugin = node.StartReady();
  ASSERT_TRUE(node.Prepare(node.MakeClaim("pods", {"gpu-0"})).ok());
  const auto all = StartRun(node, 8);
  const Outcome refused = all->Wait();
  EXPECT_EQ(refused.code, 125);
  EXPECT_THAT(refused.err, HasSubstr("pods"));

  const auto run = StartRun(node, 7);
  ASSERT_FALSE(run->WaitForLine().empty());
  EXPECT_TRUE(Eventually([&] { return Tainted(node) == 7; })) << plugin->Log();
  const auto wanted = node.MakeClaim("wanted", {"gpu-3"});
  const auto answer = node.Prepare(wanted);
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error, AllOf(HasSubstr("local"), HasSubstr(Format("{}", run->pid()))));

  run->Signal(SIGTERM);
  EXPECT_EQ(run->Wait().code, 128 + SIGTERM);
  EXPECT_TRUE(node.Prepare(wanted).ok());
  EXPECT_TRUE(Eventually([&] { return Tainted(node) == 0; })) << plugin->Log();
}

TEST(LocalRuns, AreLeftAloneByAPluginThatStarts) {
  Node node;
  node.StartReady()->Signal(SIGKILL);
  const auto run = StartRun(node, 2);
  ASSERT_FALSE(run->WaitForLine().empty());
  const auto files = node.CdiFiles();
  const auto plugin = node.StartReady();
  ASSERT_TRUE(Eventually([&] { return Tainted(node) == 2; })) << plugin->Log();
  EXPECT_EQ(node.CdiFiles(), files);
}

TEST(LocalRuns, ThatWereKilledAreNotInTheWayOfPods) {
  Node node;
  const auto plugin = node.StartReady();
  const auto run = StartRun(node, 8);
  ASSERT_FALSE(run->WaitForLine().empty());
  run->Signal(SIGKILL);
  run->Wait();
  // Its command ends a moment after it, and holds the GPUs until then.
  const auto next = node.MakeClaim("next", {"gpu-0"});
  EXPECT_TRUE(Eventually([&] { return node.Prepare(next).ok(); })) << plugin->Log();
}

// Both begin with the first GPU, so that they meet.
TEST(LocalRuns, ThatRaceWithPodsForTheSameGpusShareNone) {
  Node node;
  const auto plugin = node.StartReady();
  std::vector<std::unique_ptr<Program>> runs;
  std::vector<std::future<bool>> pods;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string device = Format("gpu-{}", i);
    const auto claim = node.MakeClaim(device, {device});
    runs.push_back(StartRun(node, 1));
    pods.push_back(std::async(std::launch::async, [&node, claim] { return node.Prepare(claim).ok(); }));
  }
  std::multiset<std::string> given;
  for (std::size_t i = 0; i < 8; ++i) {
    if (pods[i].get()) given.insert(UuidOf(node, Format("gpu-{}", i)));
  }
  const std::size_t to_pods = given.size();
  for (const auto& run : runs) {
    if (const auto uuid = run->LineOrEnd()) given.insert(*uuid);
  }
  EXPECT_EQ(std::set(given.begin(), given.end()).size(), given.size()) << ::testing::PrintToString(given);
  EXPECT_EQ(given.size(), 8U) << to_pods << " to pods\n" << plugin->Log();
}

TEST(LocalRuns, GetNoGpuThatThePluginKnowsToBeSick) {
  HealthNode node;
  const auto plugin = node.StartHealthy();
  node.ChangeVictim([](sim::Gpu& gpu) { gpu.remapped.failed = true; });
  ASSERT_TRUE(node.WaitTaints({"gpu.nvidia.com/row-remap=RowRemapFailed:NoSchedule"})) << plugin->Log();
  Outcome refused;
  EXPECT_TRUE(Eventually([&] {  // It is written down a moment later.
    const auto all = StartRun(node, 8);
    if (all->LineOrEnd()) return false;
    refused = all->Wait();
    return true;
  }));
  EXPECT_EQ(refused.code, 125);
  EXPECT_THAT(refused.err, HasSubstr("gpu.nvidia.com/row-remap"));
  EXPECT_FALSE(StartRun(node, 7)->WaitForLine().empty());
}

}  // namespace
}  // namespace tessera::tests
