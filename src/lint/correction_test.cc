#include "lint/correction.h"

#include <gtest/gtest.h>

#include <array>

#include "cel/device_selector.h"

namespace tessera::lint {
namespace {

struct Case {
  std::string_view printed, meant;
};

TEST(Correction, PutsRightWhatGuidesPrint) {
  constexpr std::array kCases{
      Case{"device.capacity['memory'].compareTo(quantity('20Gi')) >= 0",
           "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('20Gi')) >= 0"},
      Case{"device.attributes['resource.kubernetes.io/pcieRoot'] == 'pci0000:00'",
           "device.attributes['resource.kubernetes.io'].pcieRoot == 'pci0000:00'"},
      Case{"device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(version('8.0.0'))",
           "device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('8.0.0'))"},
      Case{"device.attributes[\"productName\"] == 'x'", "device.attributes['gpu.nvidia.com'].productName == 'x'"},
      Case{"device.attributes.productName == 'x'", "device.attributes['gpu.nvidia.com'].productName == 'x'"},
      Case{"device.capacity.memory >= quantity('40Gi') && true",
           "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0 && true"},
      Case{"device.capacity['gpu.nvidia.com'].memory > '40Gi'",
           "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) > 0"},
      Case{"device.attributes['gpu.nvidia.com'].driverVersion >= version('580')",
           "device.attributes['gpu.nvidia.com'].driverVersion.compareTo(semver('580.0.0')) >= 0"},
      Case{"device.attributes['gpu.nvidia.com']['driverVersion'] < semver('v580.1')",
           "device.attributes['gpu.nvidia.com']['driverVersion'].compareTo(semver('580.1.0')) < 0"},
  };
  for (const Case& c : kCases) {
    const auto correction = Correct(c.printed, "gpu.nvidia.com");
    ASSERT_TRUE(correction.has_value()) << c.printed;
    EXPECT_EQ(correction->expression, c.meant);
    EXPECT_FALSE(correction->reasons.empty());
    EXPECT_TRUE(cel::Compile(correction->expression, {.use = cel::Use::kNewExpression}).has_value()) << c.meant;
    EXPECT_FALSE(Correct(correction->expression, "gpu.nvidia.com").has_value()) << "nothing is left to put right";
  }
}

TEST(Correction, LeavesAloneWhatIsRight) {
  for (const std::string_view expression :
       {"device.driver == 'gpu.nvidia.com'", "device.attributes['gpu.nvidia.com'].type == 'gpu'",
        "device.attributes['localdomain'].type == 'gpu'", "'gpu.nvidia.com' in device.attributes",
        "device.attributes.exists(d, d == 'x')", "device.attributes['a.b'].?x.orValue('') == 'version('",
        "device.attributes['gpu.nvidia.com'].minor >= 3", "my.device.attributes['x/y'] == 1", "not an expression '"}) {
    EXPECT_FALSE(Correct(expression, "gpu.nvidia.com").has_value()) << expression;
  }
}

}  // namespace
}  // namespace tessera::lint
