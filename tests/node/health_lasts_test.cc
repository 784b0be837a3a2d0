// What is known of a sick GPU lasts: over restarts, upgrades and outages, and not when nobody looks any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/node/health_node.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

const std::vector<std::string> kLostTaints{"gpu.nvidia.com/gpu-lost=:NoSchedule", "gpu.nvidia.com/xid=79:NoSchedule"};

// Whether the state file comes to hold all of these.
bool StateIsKept(const HealthNode& node, const std::vector<std::string>& words) {
  return Eventually([&] {
    const std::string state = ReadFile(node.plugin_dir() / "health.json").value_or("");
    return std::ranges::all_of(words, [&](const std::string& word) { return state.contains(Quote(word)); });
  });
}

std::string NameOf(const fs::path& proc) { return std::string(Trim(ReadFile(proc / "comm").value_or(""))); }

// The plugin's thread of this name.
pid_t ThreadOf(const Plugin& plugin, const std::string& name) {
  for (const auto& task : fs::directory_iterator(Format("/proc/{}/task", plugin.pid()))) {
    if (NameOf(task.path()) == name) return ParseNumber<pid_t>(task.path().filename().string()).value_or(0);
  }
  return 0;
}

// The plugin's child processes of this name.
std::size_t ChildrenOf(const Plugin& plugin, const std::string& name) {
  std::size_t count = 0;
  for (const auto& task : fs::directory_iterator(Format("/proc/{}/task", plugin.pid()))) {
    const std::string children = ReadFile(task.path() / "children").value_or("");
    for (const std::string_view pid : Split(children, ' ')) {
      if (!Trim(pid).empty() && NameOf(fs::path("/proc") / std::string(Trim(pid))) == name) ++count;
    }
  }
  return count;
}

TEST(HealthLasts, OverARestartOfThePluginAndTheTaintNeverGoes) {
  HealthNode node;
  auto plugin = node.StartHealthy();
  node.LoseVictim();
  ASSERT_TRUE(node.WaitTaints(kLostTaints)) << plugin->Log();
  ASSERT_TRUE(StateIsKept(node, {"79", "GpuLost"}));
  plugin.reset();  // SIGKILL.
  // It answers again, but nobody has seen that for long enough: the next start still knows why it was tainted.
  node.SetPolicy("version: 1\nxids: {79: {hold: 1h}}\nreasons: {GpuLost: {hold: 1h}}\n");
  node.ResetVictim();
  const std::size_t writes = node.SliceWrites();
  plugin = node.StartHealth();
  ASSERT_TRUE(node.WaitRegistered());
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "Xid79: ")) << plugin->Log();
  ASSERT_TRUE(node.WaitHealth("Unhealthy", "(recovering)")) << plugin->Log();
  EXPECT_EQ(node.SliceWrites(), writes) << "the slices were right all the time";
  EXPECT_EQ(node.TaintsOf("gpu-3"), kLostTaints);
  node.SetPolicy(kQuickPolicy);
  EXPECT_TRUE(node.WaitHealth("Healthy")) << plugin->Log();
  EXPECT_TRUE(node.WaitTaints({})) << plugin->Log();
}

TEST(HealthLasts, OverAnUpgradeWithTwoInstances) {
  HealthNode node;
  node.SetPolicy("version: 1\nxids: {79: {hold: 1h}}\n");
  const auto old = node.StartHealthy({"--pod-uid=11111111-0000-0000-0000-000000000001"});
  node.Xid(79);
  const std::vector<std::string> taints{"gpu.nvidia.com/xid=79:NoSchedule"};
  ASSERT_TRUE(node.WaitTaints(taints)) << old->Log();
  ASSERT_TRUE(StateIsKept(node, {"79"}));
  const auto young = node.StartHealth({"--pod-uid=22222222-0000-0000-0000-000000000002"});
  ASSERT_TRUE(node.WaitRegistered(2)) << young->Log();
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "Xid79: "));
  old->Signal(SIGTERM);
  ASSERT_EQ(old->Wait(), 0);
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "Xid79: ")) << young->Log();
  EXPECT_EQ(node.TaintsOf("gpu-3"), taints);
  node.SetPolicy(kQuickPolicy);  // The driver advises nothing: that is proof enough.
  EXPECT_TRUE(node.WaitHealth("Healthy")) << young->Log();
  EXPECT_TRUE(node.WaitTaints({})) << "the young one publishes: " << young->Log();
}

TEST(HealthLasts, OverAnOutageOfTheApiServer) {
  HealthNode node;
  const auto plugin = node.StartHealthy();
  node.api().Pause();
  node.LoseVictim();
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "Xid79: ")) << "the kubelet needs no API server: " << plugin->Log();
  ASSERT_TRUE(node.api().Resume().has_value());
  EXPECT_TRUE(node.WaitTaints(kLostTaints)) << plugin->Log();
  node.api().Pause();
  node.ResetVictim();
  EXPECT_TRUE(node.WaitHealth("Healthy")) << plugin->Log();
  ASSERT_TRUE(node.api().Resume().has_value());
  EXPECT_TRUE(node.WaitTaints({})) << plugin->Log();
}

TEST(HealthLasts, OverARestartOfTheKubelet) {
  HealthNode node;
  const auto plugin = node.StartHealthy();
  node.LoseVictim();
  ASSERT_TRUE(node.WaitHealth("Unhealthy", "Xid79: ")) << plugin->Log();
  node.kubelet().Restart();
  EXPECT_TRUE(node.WaitHealth("Unhealthy", "Xid79: ")) << plugin->Log();
}

TEST(HealthLasts, NotWhenTheThreadHangs) {
  HealthNode node;
  const auto plugin = node.StartHealthy({"--health-lease=3s"});
  EXPECT_EQ(node.HealthOf("gpu-3").lease, std::chrono::seconds(3));
  const pid_t thread = ThreadOf(*plugin, "health");
  ASSERT_GT(thread, 0);
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr), 0);
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr), 0);
  ASSERT_EQ(::waitpid(thread, nullptr, __WALL), thread);
  EXPECT_TRUE(Eventually([&] { return node.HealthOf("gpu-3").health == "Unknown"; })) << "a stale Healthy";
  EXPECT_TRUE(node.Prepare(node.MakeClaim("a", {"gpu-0"})).ok()) << "health never holds up a claim";
  ASSERT_EQ(::ptrace(PTRACE_DETACH, thread, nullptr, nullptr), 0);
  EXPECT_TRUE(node.WaitHealth("Healthy")) << plugin->Log();
}

TEST(HealthLasts, NotWhenTheDriverIsUnloadedAndTheWatcherLetsGoOfIt) {
  HealthNode node;
  const auto plugin = node.StartHealthy();
  ASSERT_TRUE(Eventually([&] { return ChildrenOf(*plugin, "nvml-watch") == 1; }));
  node.gpus().Update([](sim::Machine& machine) { machine.driver_loaded = false; });
  (void)node.Prepare(node.MakeClaim("a", {"gpu-99"}));  // Makes it look.
  EXPECT_TRUE(Eventually([&] { return node.HealthOf("gpu-3").health == "Unknown"; })) << plugin->Log();
  EXPECT_TRUE(Eventually([&] { return ChildrenOf(*plugin, "nvml-watch") == 0; })) << plugin->Log();
  node.gpus().Update([](sim::Machine& machine) { machine.driver_loaded = true; });
  (void)node.Prepare(node.MakeClaim("b", {"gpu-99"}));
  EXPECT_TRUE(node.WaitHealth("Healthy")) << plugin->Log();
}

}  // namespace
}  // namespace tessera::tests
