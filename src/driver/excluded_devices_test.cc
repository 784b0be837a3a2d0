#include "driver/excluded_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Names(const device::Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& device : snapshot.devices) names.push_back(device.name);
  return names;
}

TEST(ExcludedDevices, AreNamedByUuidIndexNameOrExpression) {
  struct Case {
    std::string text;
    std::vector<std::string> left;
  };
  const std::string mig_0 = "gpu-2-mig-1g10gb-19-0";
  const std::string mig_1 = "gpu-2-mig-1g10gb-19-1";
  const Case cases[] = {
      {"", {"gpu-0", "gpu-1", mig_0, mig_1}},
      {TestGpu(0).gpu.uuid, {"gpu-1", mig_0, mig_1}},
      {"1, 2,", {"gpu-0"}},
      {"gpu-1", {"gpu-0", mig_0, mig_1}},
      {"gpu-2", {"gpu-0", "gpu-1"}},
      {"MIG-2-7", {"gpu-0", "gpu-1", mig_1}},
      {mig_1, {"gpu-0", "gpu-1", mig_0}},
      {"device.attributes['gpu.nvidia.com'].type == 'mig'", {"gpu-0", "gpu-1"}},
      {"gpu-0, device.attributes['gpu.nvidia.com'].type in ['mig', 'vfio'],", {"gpu-1"}},
      {R"(device.attributes["gpu.nvidia.com"].uuid.matches("^MIG-2-7,?$"))", {"gpu-0", "gpu-1", mig_1}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Names(ExcludedDevices::Parse(c.text).value().Apply(TestSnapshot())), c.left) << c.text;
  }
}

TEST(ExcludedDevices, ThatAreNoneAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"0,tesla", "no UUID, index, device name or CEL expression"},
      {"0,device.attributes['x'] == ", "--exclude-devices: "},
      {"device.attribute['gpu.nvidia.com'].type == 'gpu'", "attributes"},
  };
  for (const auto& [text, told] : cases) {
    const auto bad = ExcludedDevices::Parse(text);
    ASSERT_FALSE(bad.has_value()) << text;
    EXPECT_EQ(bad.error().code(), "BadExclude");
    EXPECT_THAT(bad.error().Text(), HasSubstr(told));
  }
}

TEST(ExcludedDevices, AnExpressionThatFailsExcludes) {
  const auto left =
      ExcludedDevices::Parse("device.attributes['gpu.nvidia.com'].nosuch == 1").value().Apply(TestSnapshot());
  EXPECT_THAT(left.devices, ::testing::IsEmpty());
  EXPECT_EQ(left.withheld.back().code, "ExcludeFailed");
  EXPECT_THAT(left.withheld.back().reason, HasSubstr("nosuch"));
}

TEST(ExcludedDevices, AreWithheldWithAReason) {
  const device::Snapshot left = ExcludedDevices::Parse("0").value().Apply(TestSnapshot());
  EXPECT_EQ(left.withheld.back().name, "gpu-0");
  EXPECT_EQ(left.withheld.back().code, "Excluded");
}

}  // namespace
}  // namespace tessera::driver
