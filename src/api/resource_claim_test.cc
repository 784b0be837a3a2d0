#include "api/resource_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

json::Value Parse(std::string_view yaml) { return json::ParseYaml(yaml).value().at(0); }

TEST(ResourceClaim, IsReadWithWhatNewerServersAdd) {
  const auto claim = DecodeClaim(Parse(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train, namespace: ml, uid: uid-1, resourceVersion: "7", labels: {a: b}}
spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com}}]}}
status:
  allocation:
    futureField: 1
    devices:
      results:
      - {request: gpus/small, driver: gpu.nvidia.com, pool: node-a, device: gpu-0, adminAccess: null, shareID: s-1}
      - {request: nic, driver: nic.example.com, pool: node-a, device: eth0, adminAccess: true}
      config:
      - source: FromClass
        requests: [gpus]
        opaque: {driver: gpu.nvidia.com, parameters: {kind: GpuConfig}}
      - {source: FromClaim}
  reservedFor:
  - {resource: pods, name: train-0, uid: u}
  - {apiGroup: scheduling.k8s.io, resource: podgroups, name: crew, uid: v}
)"));
  ASSERT_TRUE(claim.has_value()) << claim.error().Text();
  EXPECT_EQ(claim->ref, (ClaimRef{"ml", "train", "uid-1"}));
  EXPECT_EQ(claim->resource_version, "7");
  EXPECT_THAT(claim->reserved_for, ElementsAre("ml/train-0", "podgroups/crew"));
  const Allocation& allocation = claim->allocation.value();
  ASSERT_EQ(allocation.results.size(), 2U);
  EXPECT_EQ(allocation.results[0].share_id, "s-1");
  EXPECT_FALSE(allocation.results[0].admin_access);
  EXPECT_TRUE(allocation.results[1].admin_access);
  EXPECT_EQ(MainRequest(allocation.results[0].request), "gpus");
  ASSERT_EQ(allocation.configs.size(), 2U);
  EXPECT_EQ(allocation.configs[0].driver, "gpu.nvidia.com");
  EXPECT_EQ(allocation.configs[1].driver, "");
  EXPECT_TRUE(claim->raw_allocation.as_object().contains("futureField"));
}

TEST(ResourceClaim, WithoutAllocationHasNone) {
  const auto claim = DecodeClaim(Parse("{metadata: {name: a, namespace: b, uid: c}, status: {}}"));
  ASSERT_TRUE(claim.has_value());
  EXPECT_FALSE(claim->allocation.has_value());
}

TEST(ResourceClaim, WhateverDriversWroteIntoItsStatusIsKeptAsItIs) {
  const auto claim =
      DecodeClaim(Parse("{metadata: {name: a, namespace: b, uid: c}, status: {devices: [{conditions: 7}]}}"));
  ASSERT_TRUE(claim.has_value());
  EXPECT_EQ(claim->raw_devices, Parse("[{conditions: 7}]"));
}

TEST(ResourceClaim, NonsenseIsNamedByItsField) {
  struct Case {
    std::string_view yaml, message;
  };
  const Case cases[] = {
      {"{metadata: {name: a, namespace: b}}", "metadata.uid: required field is missing"},
      {"[1]", "expected object"},
      {"{metadata: {name: a, namespace: b, uid: c}, status: {allocation: {devices: {results: [{request: 1}]}}}}",
       "status.allocation.devices.results[0].request: expected string"},
  };
  for (const Case& c : cases) {
    const auto claim = DecodeClaim(Parse(c.yaml));
    ASSERT_FALSE(claim.has_value()) << c.yaml;
    EXPECT_THAT(claim.error().message(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace tessera::api
