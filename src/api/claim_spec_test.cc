#include "api/claim_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

json::Value Yaml(std::string_view text) { return json::ParseYaml(text).value().at(0); }

TEST(ClaimSpec, ReadsEveryKindOfRequest) {
  const auto spec = DecodeClaimSpec(Yaml(R"(
devices:
  requests:
  - name: one
    exactly:
      deviceClassName: gpu.nvidia.com
      selectors: [{cel: {expression: "true"}}, {later: {}}]
      tolerations: [{key: k, operator: Exists}]
      capacity: {requests: {memory: 10Gi}}
      fieldOfALaterRelease: 1
  - name: two
    firstAvailable: [{name: a, deviceClassName: x, count: 2}, {name: b, deviceClassName: z, allocationMode: All}]
  constraints: [{requests: [one, two/a], matchAttribute: gpu.nvidia.com/numa}]
  config: [{requests: [two], opaque: {driver: d, parameters: {n: 1}}}]
)"));
  ASSERT_TRUE(spec.has_value()) << spec.error().Text();
  ASSERT_EQ(spec->requests.size(), 2U);
  const DeviceRequest& one = spec->requests[0].exactly.value();
  EXPECT_EQ(one.allocation_mode, "ExactCount");
  EXPECT_EQ(one.count, 1);
  EXPECT_EQ(one.selectors[0].cel, "true");
  EXPECT_FALSE(one.selectors[1].cel.has_value());
  EXPECT_EQ(one.capacity.value().at("memory").ToString(), "10Gi");
  EXPECT_EQ(spec->requests[1].first_available[0].count, 2);
  EXPECT_EQ(spec->requests[1].first_available[1].allocation_mode, "All");
  EXPECT_THAT(spec->constraints[0].requests, ElementsAre("one", "two/a"));
  EXPECT_EQ(spec->configs[0].driver, "d");
}

TEST(ClaimSpec, AnErrorNamesTheField) {
  const auto spec = DecodeClaimSpec(Yaml("devices: {requests: [{name: r, exactly: {count: two}}]}"));
  ASSERT_FALSE(spec.has_value());
  EXPECT_THAT(spec.error().message(), HasSubstr("spec.devices.requests[0].exactly.count"));
}

TEST(DeviceClass, ReadsSelectorsAndConfigs) {
  const auto read = DecodeDeviceClass(Yaml(R"(
metadata: {name: gpu.nvidia.com}
spec:
  selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]
  config: [{opaque: {driver: gpu.nvidia.com, parameters: {a: 1}}}]
)"));
  ASSERT_TRUE(read.has_value()) << read.error().Text();
  EXPECT_EQ(read->name, "gpu.nvidia.com");
  EXPECT_EQ(read->selectors.at(0).cel, "device.driver == 'gpu.nvidia.com'");
  EXPECT_EQ(read->configs.at(0).driver, "gpu.nvidia.com");
}

}  // namespace
}  // namespace tessera::api
