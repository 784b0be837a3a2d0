#include "cel/spelling.h"

#include <gtest/gtest.h>

#include <array>

#include "cel/test_device.h"

namespace tessera::cel {
namespace {

std::vector<UnknownName> UnknownIn(std::string_view expression) {
  const DeviceFacts gpu = TestGpu();
  const DeviceFacts other{.driver = "nic.example.com"};
  return FindUnknownNames(Compile(expression, {}).value(), std::array{&gpu, &other, &gpu});
}

TEST(Spelling, KnownNamesAreFine) {
  EXPECT_TRUE(UnknownIn("device.attributes['gpu.nvidia.com'].type == 'gpu' && "
                        "device.attributes['resource.kubernetes.io'].pcieRoot == 'x' && "
                        "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('1Gi'))")
                  .empty());
}

TEST(Spelling, ANearNameIsPutInItsPlace) {
  struct Case {
    std::string_view expression, near, respelled;
  };
  constexpr std::array kCases{
      Case{"device.attributes['gpu.nvidia.com'].productname == 'X'", "productName",
           "device.attributes['gpu.nvidia.com'].productName == 'X'"},
      Case{"device.attributes['gpu.nvidia.com']['productname'] == 'X'", "productName",
           "device.attributes['gpu.nvidia.com']['productName'] == 'X'"},
      Case{"device.attributes['gpu.nvidia.com'].?productname.orValue('') == 'X'", "productName",
           "device.attributes['gpu.nvidia.com'].?productName.orValue('') == 'X'"},
      Case{"device.capacity['gpu.nvidia.com'].memori.isGreaterThan(quantity('1Gi'))", "memory",
           "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('1Gi'))"},
      Case{"device.attributes['gpu.nvidia.co'].type == 'gpu'", "gpu.nvidia.com",
           "device.attributes['gpu.nvidia.com'].type == 'gpu'"},
      Case{"device.attributes['gpu.nvidia.com'].colour == 'red'", "",
           "device.attributes['gpu.nvidia.com'].colour == 'red'"},
      Case{R"(device.attributes['gpu.nvidia.com']["product\x6eame"] == 'X')", "productName",
           R"(device.attributes['gpu.nvidia.com']["product\x6eame"] == 'X')"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.expression);
    const auto unknown = UnknownIn(c.expression);
    ASSERT_EQ(unknown.size(), 1U);
    EXPECT_EQ(unknown[0].near, c.near);
    EXPECT_EQ(Respell(c.expression, unknown), c.respelled);
  }
}

TEST(Spelling, AllNamesOfAnExpressionAreCorrected) {
  constexpr std::string_view kText =
      "device.attributes['gpu.nvidia.co'].type == 'gpu' && device.attributes['gpu.nvidia.com'].minr == 3";
  EXPECT_EQ(Respell(kText, UnknownIn(kText)),
            "device.attributes['gpu.nvidia.com'].type == 'gpu' && device.attributes['gpu.nvidia.com'].minor == 3");
}

TEST(Spelling, SaysWhereItStandsAndHowManyDevicesWereAsked) {
  constexpr std::string_view kText =
      "device.driver == 'a' &&\n  device.attributes['gpu.nvidia.com'].productname == 'X'";
  EXPECT_EQ(Render(kText, UnknownIn(kText).at(0)),
            "ERROR: <input>:2:38: device.attributes['gpu.nvidia.com'].productname: no such attribute on any of 2 "
            "devices; did you mean productName?\n"
            " |   device.attributes['gpu.nvidia.com'].productname == 'X'\n"
            " | .....................................^");
}

TEST(Spelling, WithoutDevicesNothingIsUnknown) {
  EXPECT_TRUE(FindUnknownNames(Compile("device.attributes['a.b'].c == 'X'", {}).value(), {}).empty());
}

}  // namespace
}  // namespace tessera::cel
