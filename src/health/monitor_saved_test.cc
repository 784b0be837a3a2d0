// What a monitor remembers over a restart, and what a reboot clears.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "health/monitor.h"
#include "health/watched_node.h"

namespace tessera::health {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;

TEST(Monitor, ARestartForgetsNothing) {
  Node before(FullGpus(3));
  before.Xid(0, 119);
  before.gpus[1].remap_failed = true;
  before.gpus[2].links[3].active = false;
  before.Pass(seconds{30});
  before.gpus[1].remap_failed = false;
  before.Pass(seconds{30});
  ASSERT_EQ(before.StateOf("gpu-1"), State::kRecovering);
  const SavedHealth saved = before.monitor.Save("boot-1", before.now());

  Node after(FullGpus(3));
  after.monitor = Monitor();
  after.passed = minutes{60};
  after.monitor.Restore(saved, "boot-1", after.now());
  after.monitor.SetDevices(FullGpus(3), after.now());
  (void)after.monitor.Tick(after.now());
  for (unsigned i = 0; i < 3; ++i) {
    const std::string device = Format("gpu-{}", i);
    SCOPED_TRACE(device);
    EXPECT_EQ(after.StateOf(device), before.StateOf(device));
    EXPECT_EQ(after.Codes(device), before.Codes(device));
    EXPECT_EQ(after.Of(device).taints, before.Of(device).taints);
    EXPECT_EQ(after.Of(device).reasons[0].since, before.Of(device).reasons[0].since);
  }
  after.gpus[2].links[3].active = false;
  after.Pass(seconds{35});
  EXPECT_EQ(after.StateOf("gpu-0"), State::kUnhealthy);
  EXPECT_EQ(after.StateOf("gpu-1"), State::kHealthy) << "the half minute before the restart counts";
  EXPECT_EQ(after.StateOf("gpu-2"), State::kUnhealthy) << "links that were up are remembered";
}

TEST(Monitor, AfterARestartTheDevicesOfALostGpuAreStillNamed) {
  Node before(FullGpus(2));
  before.Xid(1, 79);
  before.Look();
  const SavedHealth saved = before.monitor.Save("boot-1", before.now());
  for (const char* boot : {"boot-1", "boot-2"}) {
    Node after(FullGpus(1));
    after.monitor = Monitor();
    after.monitor.Restore(saved, boot, after.now());
    after.monitor.SetDevices(FullGpus(1), after.now());
    (void)after.monitor.Tick(after.now());
    EXPECT_EQ(after.monitor.Find("gpu-1") != nullptr, std::string_view(boot) == "boot-1") << boot;
    EXPECT_TRUE(after.monitor.Find("gpu-0")->reasons.empty());
  }
}

TEST(Monitor, ErrorsWhileThePluginWasDownAreSeen) {
  Node before(FullGpus(1));
  const SavedHealth saved = before.monitor.Save("boot-1", before.now());
  for (const char* boot : {"boot-1", "boot-2"}) {
    Node after(FullGpus(1));
    after.monitor = Monitor();
    after.monitor.Restore(saved, boot, after.now());
    after.monitor.SetDevices(FullGpus(1), after.now());
    after.gpus[0].ecc_uncorrected_lifetime = 8;
    after.Look();
    EXPECT_THAT(after.Codes("gpu-0"), ElementsAre("EccUncorrected")) << boot;
  }
}

TEST(Monitor, ARebootClearsWhatARebootClears) {
  Node before(FullGpus(3));
  before.Xid(0, 79);
  before.gpus[1].ecc_uncorrected = 1;
  before.gpus[2].remap_failed = true;
  before.Look();
  const SavedHealth saved = before.monitor.Save("boot-1", before.now());
  Node after(FullGpus(3));
  after.monitor = Monitor();
  after.monitor.Restore(saved, "boot-2", after.now());
  after.monitor.SetDevices(FullGpus(3), after.now());
  (void)after.monitor.Tick(after.now());
  EXPECT_EQ(after.StateOf("gpu-0"), State::kHealthy);
  EXPECT_EQ(after.StateOf("gpu-1"), State::kHealthy);
  EXPECT_EQ(after.StateOf("gpu-2"), State::kUnhealthy) << "a board does not repair itself";
  after.Pass(seconds{70});
  EXPECT_EQ(after.StateOf("gpu-2"), State::kHealthy) << "unless it did";
}

}  // namespace
}  // namespace tessera::health
