#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/resource_slice.h"

namespace tessera::api {
namespace {

using ::testing::HasSubstr;

json::Value Yaml(std::string_view text) { return json::ParseYaml(text).value().at(0); }

TEST(DecodeSlice, ReadsWhatAllocatingNeeds) {
  const auto slice = DecodeSlice(Yaml(R"(
metadata: {name: s}
spec:
  driver: d
  pool: {name: p, generation: 3, resourceSliceCount: 2}
  perDeviceNodeSelection: true
  devices:
  - name: a
    nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [z1]}]}]}
    attributes:
      i: {int: 7}
      b: {bool: true}
      v: {version: 1.2.3}
      l: {strings: [q, r]}
      m: {bools: [true, false]}
      u: {later: 1}
    capacity: {memory: {value: 10Gi, requestPolicy: {default: 2Gi, validRange: {min: 1Gi, step: 1Gi}}}, plain: {value: "4"}}
    consumesCounters: [{counterSet: g, counters: {slices: {value: "2"}}}]
    taints: [{key: k, effect: NoExecute, timeAdded: "2026-01-01T00:00:00Z"}]
    allowMultipleAllocations: true
)"));
  ASSERT_TRUE(slice.has_value()) << slice.error().Text();
  EXPECT_EQ(slice->name, "s");
  EXPECT_EQ(slice->pool_generation, 3);
  EXPECT_TRUE(slice->per_device_node_selection);
  const Device& device = slice->devices.at(0);
  EXPECT_EQ(device.attributes.at("i"), Attribute(std::int64_t{7}));
  EXPECT_EQ(device.attributes.at("v"), Attribute(Version{"1.2.3"}));
  EXPECT_EQ(device.attributes.at("l"), Attribute(std::vector<std::string>{"q", "r"}));
  EXPECT_EQ(device.attributes.at("m"), Attribute(std::vector<bool>{true, false}));
  EXPECT_FALSE(device.attributes.contains("u"));
  EXPECT_EQ(device.capacity_policies.at("memory").valid_range->step->ToString(), "1Gi");
  EXPECT_FALSE(device.capacity_policies.contains("plain"));
  EXPECT_EQ(device.consumes_counters.at(0).values.at("slices"), Quantity::FromInteger(2));
  EXPECT_EQ(device.reach.node_selector->terms.at(0).match_expressions.at(0).key, "zone");
  EXPECT_TRUE(device.allow_multiple_allocations);
}

TEST(DecodeSlice, ReadsCounters) {
  const auto slice = DecodeSlice(Yaml(R"(
metadata: {name: s}
spec: {driver: d, nodeName: node-a, pool: {name: p, resourceSliceCount: 1}, sharedCounters: [{name: g, counters: {x: {value: 80Gi}}}]}
)"));
  ASSERT_TRUE(slice.has_value()) << slice.error().Text();
  EXPECT_EQ(slice->node_name, "node-a");
  EXPECT_EQ(slice->shared_counters.at(0).values.at("x").ToString(), "80Gi");
}

TEST(DecodeSlice, AnErrorNamesTheField) {
  const auto slice =
      DecodeSlice(Yaml("{metadata: {name: s}, spec: {driver: d, pool: {name: p, resourceSliceCount: many}}}"));
  ASSERT_FALSE(slice.has_value());
  EXPECT_THAT(slice.error().message(), HasSubstr("spec.pool.resourceSliceCount"));
}

}  // namespace
}  // namespace tessera::api
