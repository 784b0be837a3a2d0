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
