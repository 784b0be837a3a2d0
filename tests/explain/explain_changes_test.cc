// The changes that `tessera explain` proposes are true: whoever makes them in the file gets the devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "tests/explain/situations.h"
#include "tests/support/program.h"

namespace tessera::tests {
namespace {

using ::testing::HasSubstr;

struct Edit {
  std::string_view old_text, new_text;
};

struct Case {
  std::string name, situation;
  std::string_view proposed;         // By explain, for the situation as it is.
  std::vector<Edit> edits;           // The same by hand.
  std::vector<Edit> too_small = {};  // Less of it.
};

std::vector<Case> Cases() {
  constexpr std::string_view kH200 = "device.attributes['gpu.nvidia.com'].productName.contains('H200') && ";
  constexpr std::string_view k100Gi = "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('100Gi'))";
  return {
      {.name = "AnotherClass",
       .situation = "class-missing",
       .proposed = "name class gpu.nvidia.com instead of gpu.nvidia.co in request gpus",
       .edits = {{"gpu.nvidia.co\n", "gpu.nvidia.com\n"}}},
      {.name = "AnotherAttribute",
       .situation = "cel-error",
       .proposed = "write productName instead of productname in selector 0 of request gpus",
       .edits = {{".productname", ".productName"}}},
      {.name = "AnotherDomain",
       .situation = "spelling",
       .proposed = "write gpu.nvidia.com instead of gpu.nvida.com in selector 0 of request gpus",
       .edits = {{"gpu.nvida.com", "gpu.nvidia.com"}}},
      {.name = "AllSlices",
       .situation = "pool-incomplete",
       .proposed = "wait until the driver has published all slices of pool gpu.nvidia.com/node-c",
       .edits = {{"resourceSliceCount: 2", "resourceSliceCount: 1"}}},
      {.name = "OtherNodes",
       .situation = "pod-two-claims",
       .proposed = "drop nodeSelector zone=west from the pod",
       .edits = {{"nodeSelector: {zone: west}", "nodeSelector: {}"}}},
      {.name = "NoAffinity",
       .situation = "pod-cordoned",
       .proposed = "drop the required node affinity from the pod",
       .edits = {{"requiredDuringScheduling", "ignored"}}},
      {.name = "NodeTaintTolerated",
       .situation = "pod-cordoned",
       .proposed = "lift the node's taint node.kubernetes.io/unschedulable:NoSchedule, or tolerate it in the pod",
       .edits = {{"tolerations: [", "tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}, "}}},
      {.name = "NodeTaintLifted",
       .situation = "pod-cordoned",
       .proposed = "lift the node's taint node.kubernetes.io/unschedulable:NoSchedule, or tolerate it in the pod",
       .edits = {{"- {key: node.kubernetes.io/unschedulable, effect: NoSchedule}", ""}}},
      {.name = "TaintTolerated",
       .situation = "taint",
       .proposed = "lift the taint gpu.nvidia.com/xid=79:NoExecute, or tolerate it in request gpus",
       .edits = {{"count: 2",
                  "count: 2\n        tolerations: [{key: gpu.nvidia.com/xid, value: '79', effect: NoExecute}]"}}},
      {.name = "TaintLifted",
       .situation = "taint-rule",
       .proposed = "lift the taint example.com/rack=broken:NoSchedule, or tolerate it in request gpus",
       .edits = {{"device: gpu-2", "device: gpu-of-another-rack"}}},
      {.name = "PartOfASelectorLess",
       .situation = "selector",
       .proposed = "drop device.attributes['gpu.nvidia.com'].productName.startsWith('NVIDIA H200') from request gpus",
       .edits = {{"device.attributes['gpu.nvidia.com'].productName.startsWith('NVIDIA H200') && ", ""}}},
      {.name = "LessCapacity",
       .situation = "capacity",
       .proposed = "ask for 20Gi instead of 30Gi of capacity memory in request share",
       .edits = {{"memory: 30Gi", "memory: 20Gi"}},
       .too_small = {{"memory: 30Gi", "memory: 21Gi"}}},
      {.name = "NoConstraint",
       .situation = "constraint",
       .proposed = "drop the constraint matchAttribute resource.kubernetes.io/pcieRoot from claim default/train",
       .edits = {{"constraints:", "ignored:"}}},
      {.name = "FewerWithTheConstraint",
       .situation = "constraint",
       .proposed = "ask for 2 instead of 4 in request gpus",
       .edits = {{"count: 4", "count: 2"}},
       .too_small = {{"count: 4", "count: 3"}}},
      {.name = "FewerDevices",
       .situation = "count",
       .proposed = "ask for 4 instead of 6 in request gpus",
       .edits = {{"count: 6", "count: 4"}},
       .too_small = {{"count: 6", "count: 5"}}},
      {.name = "FewerOfAnAlternative",
       .situation = "alternatives",
       .proposed = "ask for 4 instead of 8 in request gpus/large",
       .edits = {{"count: 8", "count: 4"}},
       .too_small = {{"count: 8", "count: 5"}}},
      {.name = "SomeInsteadOfAll",
       .situation = "all",
       .proposed = "ask for 1 instead of all in request gpus",
       .edits = {{"allocationMode: All", "count: 1"}},
       .too_small = {{"allocationMode: All", "count: 2"}}},
      {.name = "AHolderLess",
       .situation = "held",
       .proposed = "free what claim default/alice holds (used by pod default/alice-0)",
       .edits = {{"status:", "ignored:"}}},
      {.name = "TwoHoldersLess",
       .situation = "held-by-many",
       .proposed = "free what 2 claims hold: default/user-0 (used by pod default/pod-0), default/user-1",
       .edits = {{"status:", "ignored:"}, {"status:", "ignored:"}},
       .too_small = {{"status:", "ignored:"}}},
      {.name = "PartOfASelectorAndAHolderLess",
       .situation = "held-and-selector",
       .proposed = "contains('H200') from request gpus, and free what claim default/everything holds",
       .edits = {{"device.attributes['gpu.nvidia.com'].productName.contains('H200')", "true"}, {"status:", "ignored:"}},
       .too_small = {{"status:", "ignored:"}}},
      {.name = "HolderOfCountersLess",
       .situation = "counters-held",
       .proposed = "free what claim default/mig-user holds (used by pod default/user-0)",
       .edits = {{"status:", "ignored:"}}},
      {.name = "TwoPartsLess",
       .situation = "two-changes",
       .proposed = "productName.contains('H200') from request gpus, and drop device.capacity",
       .edits = {{kH200, ""}, {k100Gi, "true"}},
       .too_small = {{kH200, ""}}},
  };
}

std::string Edited(const std::string& situation, const std::vector<Edit>& edits) {
  std::string text = ReadFile(SituationFile(situation + ".yaml")).value();
  for (const auto& [old_text, new_text] : edits) {
    const std::size_t at = text.find(old_text);
    EXPECT_NE(at, std::string::npos) << old_text;
    if (at != std::string::npos) text.replace(at, old_text.size(), new_text);
  }
  return text;
}

class ExplainChange : public testing::TestWithParam<Case> {
 protected:
  Outcome RunEdited(const std::vector<Edit>& edits) {
    const std::string file = dir_.path() / "edited.yaml";
    EXPECT_TRUE(ReplaceFile(file, Edited(GetParam().situation, edits)).has_value());
    return RunProgram("tessera", CommandOf(GetParam().situation, file));
  }

  const TempDir dir_ = TempDir::Create("explain").value();
};

TEST_P(ExplainChange, IsProposedAndEnoughAndNoMoreThanThat) {
  const Outcome before = RunEdited({});
  EXPECT_EQ(before.code, 1) << before.err;
  EXPECT_THAT(before.out, HasSubstr(GetParam().proposed));
  const Outcome after = RunEdited(GetParam().edits);
  EXPECT_EQ(after.code, 0) << after.out << after.err;
  if (!GetParam().too_small.empty()) {
    EXPECT_EQ(RunEdited(GetParam().too_small).code, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExplainChange, testing::ValuesIn(Cases()),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace tessera::tests
