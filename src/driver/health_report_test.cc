#include "driver/health_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

// "gpu-0 Healthy: message", in the order of the report.
std::vector<std::string> Texts(const std::vector<health::DeviceHealth>& found, const Hardware& hardware) {
  constexpr std::array<const char*, 3> kNames{"Unknown", "Healthy", "Unhealthy"};
  std::vector<std::string> texts;
  for (const kubelet::DeviceHealth& device : HealthReport(found, hardware, "node-a", seconds(45))) {
    EXPECT_EQ(device.pool, "node-a");
    EXPECT_EQ(device.lease, seconds(45));
    texts.push_back(
        Format("{} {}: {}", device.device, kNames.at(static_cast<std::size_t>(device.health)), device.message));
  }
  return texts;
}

health::DeviceHealth Found(std::string device, health::Health health, std::string message = {}) {
  return {.device = std::move(device),
          .looked = std::chrono::system_clock::now(),
          .health = health,
          .message = std::move(message)};
}

TEST(HealthReport, SaysWhatHealthFoundAndWhyDevicesAreWithheld) {
  Hardware hardware;
  hardware.Set(TestState());
  EXPECT_THAT(Texts({Found("gpu-0", health::Health::kHealthy), Found("gpu-1", health::Health::kUnhealthy, "Xid79: …")},
                    hardware),
              ElementsAre("gpu-0 Healthy: ", "gpu-1 Unhealthy: Xid79: …", "gpu-5 Unhealthy: it fell off the bus"));
  EXPECT_THAT(Texts({Found("gpu-5", health::Health::kUnhealthy, "GpuLost: …")}, hardware),
              ElementsAre("gpu-5 Unhealthy: GpuLost: …"))
      << "health knows better";
}

TEST(HealthReport, SaysNothingOfADeviceThatNobodyLookedAtYet) {
  Hardware hardware;
  health::DeviceHealth restored{.device = "gpu-1", .health = health::Health::kUnhealthy, .message = "Xid79: …"};
  restored.reasons.emplace_back();
  EXPECT_THAT(Texts({{.device = "gpu-0"}, restored}, hardware), ElementsAre("gpu-1 Unhealthy: Xid79: …"));
}

TEST(HealthReport, KnowsNothingWhileTheDriverDoesNotAnswer) {
  Hardware hardware;
  hardware.Set(TestState());
  hardware.Fail(Error(ErrorKind::kTransient, "DriverNotLoaded", "no driver"));
  EXPECT_THAT(
      Texts({Found("gpu-0", health::Health::kHealthy), Found("gpu-1", health::Health::kUnhealthy, "Xid79: …")},
            hardware),
      ElementsAre("gpu-0 Unknown: no driver", "gpu-1 Unhealthy: Xid79: …", "gpu-5 Unknown: it fell off the bus"));
}

}  // namespace
}  // namespace tessera::driver
