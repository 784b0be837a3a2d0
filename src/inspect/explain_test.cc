#include "inspect/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "inspect/explain_view.h"
#include "manifests/builtin_classes.h"

namespace tessera::inspect {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

api::ResourceSlice SliceOf(std::vector<std::string> gpus) {
  api::ResourceSlice slice;
  slice.name = "here-gpus";
  slice.driver = "gpu.nvidia.com";
  slice.node_name = slice.pool_name = "here";
  slice.pool_generation = slice.pool_slice_count = 1;
  for (std::string& name : gpus) {
    slice.devices.push_back({.name = std::move(name), .attributes = {{"type", std::string("gpu")}}});
  }
  return slice;
}

manifests::Claim ClaimFor(std::string name, std::int64_t count) {
  api::DeviceRequest request{.device_class = "gpu.nvidia.com", .count = count};
  manifests::Claim claim{.object = {.ref = {.namespace_name = "local", .name = std::move(name), .uid = {}}}};
  claim.spec.requests.push_back({.name = "gpus", .exactly = std::move(request)});
  return claim;
}

// What somebody does who has no cluster, as the header says.
TEST(Explain, NeedsNeitherFilesNorACluster) {
  manifests::Objects objects;
  objects.claims = {ClaimFor("mine", 2), ClaimFor("other", 1)};
  objects.claims[1].object.allocation = {
      .results = {{.request = "gpus", .driver = "gpu.nvidia.com", .pool = "here", .device = "gpu-1"}}};
  objects.slices.push_back({.object = SliceOf({"gpu-0", "gpu-1"})});
  for (const api::DeviceClass& one : manifests::BuiltinClasses()) objects.classes.push_back({.object = one});
  const Target target{.namespace_name = "local", .name = "mine"};
  const auto refused = Explain(objects, target, {.version = "1.37"});
  ASSERT_TRUE(refused.has_value()) << refused.error().Text();
  EXPECT_FALSE(refused->fits);
  EXPECT_THAT(ToText(*refused), AllOf(HasSubstr("gpu-1: allocated to another claim [local/other (no pod)]"),
                                      HasSubstr("ask for 1 instead of 2 in request gpus: then it fits on here"),
                                      HasSubstr("free what claim local/other holds")));
  objects.claims.pop_back();
  EXPECT_TRUE(Explain(objects, target, {.version = "1.37"})->fits);
}

using Numbers = std::vector<std::int64_t>;

// Two GPUs for a claim that wants both at one NUMA node, of which each has a list.
Explanation ExplainNumaLists(const Numbers& first, const Numbers& second, bool gate) {
  manifests::Objects objects;
  objects.claims = {ClaimFor("mine", 2)};
  objects.claims[0].spec.constraints.push_back({.match_attribute = "gpu.nvidia.com/numaNodes"});
  api::ResourceSlice slice = SliceOf({"gpu-0", "gpu-1"});
  slice.devices[0].attributes["numaNodes"] = first;
  slice.devices[1].attributes["numaNodes"] = second;
  objects.slices.push_back({.object = std::move(slice)});
  for (const api::DeviceClass& one : manifests::BuiltinClasses()) objects.classes.push_back({.object = one});
  const ClusterFacts cluster{.version = "v1.37.1",
                             .gates = std::map<std::string, bool>{{"DRAListTypeAttributes", gate}}};
  return Explain(objects, {.namespace_name = "local", .name = "mine"}, cluster).value();
}

TEST(Explain, FollowsTheGateForListAttributes) {
  EXPECT_TRUE(ExplainNumaLists({0, 1}, {1}, true).fits);
  EXPECT_FALSE(ExplainNumaLists({0, 1}, {1}, false).fits);
  const Explanation apart = ExplainNumaLists({0, 2}, {1}, true);
  EXPECT_FALSE(apart.fits);
  EXPECT_THAT(ToText(apart), HasSubstr("2 devices must have a value in common; usable devices have [0, 2] ×1, [1] ×1"));
}

TEST(ExplainView, ManyMisspellingsLeaveRoomForNodesAndChanges) {
  Explanation explanation{.stopped_by = "stopped"};
  for (int i = 0; i < 30; ++i) {
    cel::UnknownName name;
    name.reference = {.domain = "gpu.nvidia.com", .id = "x"};
    explanation.misspellings.push_back({.owner = Format("request r{}", i), .expression = "x", .unknown = {name}});
  }
  explanation.groups = {{.nodes = {"node-a"}, .error = "an error"}};
  explanation.remedies.found = {{.text = "write y", .node = "node-a"}};
  const std::string text = ToText(explanation);
  EXPECT_LE(std::ranges::count(text, '\n'), 25);
  EXPECT_THAT(text, AllOf(HasSubstr("stopped"), HasSubstr("more lines; -o json has them all"), HasSubstr("an error"),
                          HasSubstr("Smallest change:\n  write y: then it fits on node-a")));
}

TEST(ExplainView, TextOfTheClusterCannotControlTheTerminal) {
  Explanation explanation;
  explanation.target.name = "a\x1b[2Jb";
  explanation.stopped_by = "first\x07 line\nsecond";
  const std::string text = ToText(explanation);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("  first  line\n  second\n"));
}

}  // namespace
}  // namespace tessera::inspect
