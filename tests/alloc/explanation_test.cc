// Each device's first obstacle, for whoever explains why a claim is not served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/alloc/problem.h"

namespace tessera::tests {
namespace {

using alloc::Obstacle;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

api::Device Named(std::string name) { return {.name = std::move(name), .attributes = {{"x", std::int64_t{1}}}}; }

TEST(Explanation, NamesTheFirstObstacleOfEachDevice) {
  api::ResourceSlice slice{.driver = "d", .node_name = "n", .pool_name = "p", .pool_slice_count = 1, .name = "s"};
  slice.devices = {Named("free"), Named("held"), Named("other"), Named("tainted"), Named("bare"), Named("odd")};
  slice.devices[2].attributes["x"] = std::int64_t{2};
  slice.devices[3].taints = {{"sick", "", "NoSchedule"}};
  slice.devices[4].attributes.emplace("y", true);
  slice.devices[5].attributes.clear();
  for (const std::size_t with_root : {0U, 1U, 2U, 3U}) slice.devices[with_root].attributes.emplace("root", "pci0");
  AllocationProblem problem{.node = {.name = "n"}, .slices = {slice}, .classes = {{"any", {.name = "any"}}}};
  const api::DeviceRequest request{.device_class = "any", .selectors = {{"device.attributes['d'].x == 1"}}};
  problem.claims.push_back(
      {.ref = {"default", "c", "u"},
       .spec = {.requests = {{.name = "r", .exactly = request}}, .constraints = {{.match_attribute = "d/root"}}}});

  const alloc::Rules rules = alloc::RulesFor(cel::Release::k1_37);
  const alloc::Inventory inventory(problem.slices);
  alloc::AllocatedState allocated(rules.gates);
  allocated.Add({.request = "r", .driver = "d", .pool = "p", .device = "held"});
  const alloc::Allocator allocator(inventory, allocated, problem.classes, SelectorsOf(rules), rules);
  const auto explanation = allocator.Explain(problem.node, problem.claims);

  ASSERT_TRUE(explanation.has_value()) << explanation.error().Text();
  ASSERT_EQ(explanation->requests.size(), 1U);
  std::vector<Obstacle> obstacles;
  std::map<std::string, std::string> details;
  for (const alloc::DeviceVerdict& device : explanation->requests[0].devices) {
    obstacles.push_back(device.obstacle);
    details[device.device] = device.detail;
  }
  EXPECT_THAT(obstacles, ElementsAre(Obstacle::kNone, Obstacle::kHeld, Obstacle::kSelector, Obstacle::kTaint,
                                     Obstacle::kAttribute, Obstacle::kFault));
  EXPECT_THAT(details["other"], HasSubstr("selector #0 is false: device.attributes['d'].x == 1"));
  EXPECT_THAT(details["tainted"], HasSubstr("taint sick:NoSchedule is not tolerated"));
  EXPECT_THAT(details["bare"], HasSubstr("no attribute d/root"));
  EXPECT_THAT(details["odd"], HasSubstr("no such key: x"));
}

TEST(Explanation, SaysWhyAPoolIsNotUsed) {
  api::ResourceSlice slice{.driver = "d", .node_name = "n", .pool_name = "p", .pool_slice_count = 3, .name = "s"};
  const AllocationProblem problem{.node = {.name = "n"}, .slices = {slice}};
  const alloc::Rules rules = alloc::RulesFor(cel::Release::k1_37);
  const alloc::Inventory inventory(problem.slices);
  const alloc::AllocatedState allocated(rules.gates);
  const alloc::Allocator allocator(inventory, allocated, problem.classes, SelectorsOf(rules), rules);
  const auto explanation = allocator.Explain(problem.node, {});
  ASSERT_TRUE(explanation.has_value()) << explanation.error().Text();
  ASSERT_EQ(explanation->pools.size(), 1U);
  EXPECT_EQ(explanation->pools[0].state, alloc::PoolState::kIncomplete);
  EXPECT_THAT(explanation->pools[0].reason, HasSubstr("1 of 3 slices"));
}

}  // namespace
}  // namespace tessera::tests
