// Claims that cannot be served are refused at once, where Kubernetes tries every combination until its time is up.
#include <gtest/gtest.h>

#include <functional>

#include "base/text.h"
#include "tests/alloc/problem.h"

namespace tessera::tests {
namespace {

using MakeDevice = std::function<api::Device(std::size_t)>;

api::ResourceSlice Slice(std::size_t count, const MakeDevice& make) {
  api::ResourceSlice slice{.driver = "d", .node_name = "n", .pool_name = "p", .pool_slice_count = 1, .name = "devices"};
  for (std::size_t i = 0; i < count; ++i) {
    api::Device device = make(i);
    device.name = Format("{:03}", i);
    slice.devices.push_back(std::move(device));
  }
  return slice;
}

api::ClaimRequest Request(std::string name, std::int64_t count) {
  return {.name = std::move(name), .exactly = api::DeviceRequest{.device_class = "any", .count = count}};
}

AllocationProblem ProblemOf(std::vector<api::ResourceSlice> slices, std::vector<api::ClaimRequest> requests,
                            std::vector<api::Constraint> constraints = {}) {
  AllocationProblem problem{.node = {.name = "n"}, .slices = std::move(slices), .classes = {{"any", {.name = "any"}}}};
  problem.claims.push_back(
      {.ref = {"default", "c", "u"}, .spec = {.requests = std::move(requests), .constraints = std::move(constraints)}});
  return problem;
}

api::Device Same(std::size_t) { return {}; }

// Four NUMA nodes.
api::Device OnNuma(std::size_t index) { return {.attributes = {{"numa", static_cast<std::int64_t>(index % 4)}}}; }

void ExpectRefusedWithin(std::uint64_t steps, const AllocationProblem& problem) {
  for (const cel::Release release : {cel::Release::k1_36, cel::Release::k1_37}) {
    const auto outcome = Solve(problem, alloc::RulesFor(release), {.max_steps = steps});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().Text();
    EXPECT_FALSE(outcome->allocated);
  }
}

TEST(HopelessClaims, MoreDevicesThanThereAre) {
  ExpectRefusedWithin(100, ProblemOf({Slice(30, Same)}, {Request("r", 31)}));
}

TEST(HopelessClaims, MoreOfOneKindThanThereAre) {
  const api::Constraint same_numa{.match_attribute = "d/numa"};
  ExpectRefusedWithin(100, ProblemOf({Slice(100, OnNuma)}, {Request("r", 26)}, {same_numa}));
  ExpectRefusedWithin(100, ProblemOf({Slice(100, OnNuma)}, {Request("a", 13), Request("b", 13)}, {same_numa}));
}

TEST(HopelessClaims, MoreKindsThanThereAre) {
  std::vector<api::ClaimRequest> requests;
  for (int i = 0; i < 5; ++i) requests.push_back(Request(Format("r{}", i), 1));
  const auto problem = ProblemOf({Slice(60, OnNuma)}, requests, {{.distinct_attribute = "d/numa"}});
  const auto outcome = Solve(problem, alloc::RulesFor(cel::Release::k1_37), {.max_steps = 1000});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().Text();
  EXPECT_FALSE(outcome->allocated);
}

TEST(HopelessClaims, RequestsThatWantTheSameDevices) {
  ExpectRefusedWithin(100, ProblemOf({Slice(20, Same)}, {Request("a", 12), Request("b", 12)}));
}

TEST(HopelessClaims, PartitionsThatDoNotFitTogether) {
  // Four GPUs of seven slices, each with 14 placements of one slice.
  api::ResourceSlice counters{
      .driver = "d", .node_name = "n", .pool_name = "p", .pool_slice_count = 2, .name = "counters"};
  for (int gpu = 0; gpu < 4; ++gpu) {
    counters.shared_counters.push_back({Format("gpu-{}", gpu), {{"slices", Quantity::FromInteger(7)}}});
  }
  auto devices = Slice(56, [](std::size_t index) {
    return api::Device{.consumes_counters = {{Format("gpu-{}", index % 4), {{"slices", Quantity::FromInteger(1)}}}}};
  });
  devices.pool_slice_count = 2;
  ExpectRefusedWithin(100, ProblemOf({counters, devices}, {Request("r", 29)}));
}

TEST(HopelessClaims, WhatTheApiServerWouldNotStore) {
  auto problem = ProblemOf({Slice(1, Same)}, std::vector(100'000, Request("r", 0)));
  EXPECT_FALSE(Solve(problem, alloc::RulesFor(cel::Release::k1_37)).has_value());
  problem.claims[0].spec.requests = {Request("r", 1)};
  problem.claims.resize(100'000, problem.claims[0]);
  EXPECT_FALSE(Solve(problem, alloc::RulesFor(cel::Release::k1_37)).has_value());
}

TEST(HopelessClaims, ADeviceTriedInVainIsNotTriedAgainUnderAnotherName) {
  // "b" needs the one device that "a" may have as well; which of the others "a" takes makes no difference.
  auto problem =
      ProblemOf({Slice(40, [](std::size_t index) { return api::Device{.attributes = {{"special", index == 0}}}; })},
                {Request("a", 20), Request("b", 1)});
  problem.claims[0].spec.requests[1].exactly->selectors = {{"device.attributes['d'].special"}};
  const auto outcome = Solve(problem, alloc::RulesFor(cel::Release::k1_37), {.max_steps = 2000});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().Text();
  ASSERT_TRUE(outcome->allocated);
  EXPECT_EQ(outcome->allocations[0].results.back().device, "000");
  EXPECT_EQ(outcome->allocations[0].results.front().device, "001");
}

}  // namespace
}  // namespace tessera::tests
