#include "inspect/device_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "health/monitor.h"
#include "health/state_file.h"
#include "health/test_parts.h"

namespace tessera::inspect {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class DeviceHealthTest : public ::testing::Test {
 protected:
  static health::Moment Now() { return {std::chrono::system_clock::now(), std::chrono::steady_clock::now()}; }

  // As the plugin does, of a machine with two GPUs.
  void LosesGpu1() {
    health::Monitor monitor;
    monitor.SetDevices(health::FullGpus(2), Now());
    monitor.Observe({.kind = health::Kind::kGpuLost,
                     .place = {"GPU-1", {}, {}},
                     .sight = health::Sight::kPresent,
                     .found = "it fell off the bus"},
                    Now());
    (void)monitor.Tick(Now());
    ASSERT_TRUE(health::StoreHealth(dir_.path() / health::kHealthFile, monitor.Save("boot", Now())).has_value());
  }
  HealthPlaces Places() const { return {.plugin_dir = dir_.path(), .verdicts = dir_.path(), .boot_id = "boot"}; }

  const TempDir dir_ = TempDir::Create("device-health").value();
};

TEST_F(DeviceHealthTest, IsThatOfThePluginsFileAlsoOfADeviceThatIsGone) {
  LosesGpu1();
  for (const unsigned gpus : {1U, 2U}) {
    const auto health = ReadDeviceHealth(Places(), health::FullGpus(gpus), Now()).value();
    ASSERT_THAT(health, SizeIs(1));
    EXPECT_EQ(health[0].device, "gpu-1");
    EXPECT_EQ(health[0].reasons[0].code, "GpuLost");
  }
}

TEST_F(DeviceHealthTest, HasTheVerdictsThatAreInForce) {
  ASSERT_TRUE(ReplaceFile(dir_.path() / "dcgm.yaml", "{device: 0, state: degraded, reason: slow}").has_value());
  const auto health = ReadDeviceHealth(Places(), health::FullGpus(1), Now()).value();
  ASSERT_THAT(health, SizeIs(1));
  EXPECT_EQ(health[0].reasons[0].code, "Verdict");
}

TEST_F(DeviceHealthTest, IsEmptyWithoutAPluginAndAnErrorWhereItsFileCannotBeRead) {
  EXPECT_THAT(ReadDeviceHealth(Places(), health::FullGpus(1), Now()).value(), IsEmpty());
  const auto file = dir_.path() / health::kHealthFile;
  ASSERT_TRUE(ReplaceFile(file, "{").has_value());
  EXPECT_FALSE(ReadDeviceHealth(Places(), health::FullGpus(1), Now()).has_value());
  EXPECT_TRUE(std::filesystem::exists(file)) << "it is not ours to set aside";
}

}  // namespace
}  // namespace tessera::inspect
