// Every simulated machine, read through the real path: child process, dlopen, NVML's C ABI, sysfs. What comes out must be
// what the API takes, and stay what it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/inventory.h"
#include "device/slices.h"
#include "nvml/hosted_library.h"
#include "tests/support/golden.h"
#include "tests/support/openapi.h"
#include "tests/support/sim_root.h"
#include "tests/support/slice_rules.h"

namespace tessera::tests {
namespace {

using ::testing::IsEmpty;

Result<device::Recording> ReadRoot(const SimRoot& root) {
  nvml::HostedLibrary library({.driver_roots = {root.path()}});
  return device::Record(library, root.sysfs());
}

class ProfileTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ProfileTest, PublishesGoldenSlicesTheApiTakes) {
  const SimRoot root(GetParam());
  const auto recording = ReadRoot(root);
  ASSERT_TRUE(recording.has_value()) << recording.error().Text();
  const device::Snapshot snapshot = device::MakeSnapshot(recording->nvml, recording->pci);
  for (const device::Device& device : snapshot.devices) EXPECT_THAT(device.gaps, IsEmpty()) << device.name;

  std::vector<json::Value> slices;
  std::string yaml;
  for (const auto& slice : device::MakeSlices(snapshot, {"node-a", 1, std::nullopt})) {
    slices.push_back(api::ToJson(slice));
    yaml += (yaml.empty() ? "" : "---\n") + json::PrintYaml(slices.back());
  }
  EXPECT_TRUE(MatchesGolden(yaml, "slices/" + GetParam() + ".yaml"));
  EXPECT_THAT(SliceFaults(slices), IsEmpty());
  for (const char* version : {"1.36.4", "1.37.1"}) {
    static std::map<std::string, OpenApi> documents;
    const auto [document, is_new] =
        documents.try_emplace(version, "resource.k8s.io-v1-" + std::string(version) + ".json");
    for (const json::Value& slice : slices) {
      EXPECT_THAT(document->second.Check(slice, "io.k8s.api.resource.v1.ResourceSlice"), IsEmpty()) << version;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProfileTest, ::testing::ValuesIn(ProfileNames()), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

// The checks themselves must be able to fail.
TEST(SliceChecks, FindFaults) {
  const auto slice = json::ParseJson(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{},
    "spec":{"driver":"gpu.nvidia.com","nodeName":"n","pool":{"name":"n","generation":1,"resourceSliceCount":2},
    "devices":[{"name":"GPU_0","attributes":{"a-b":{"string":"x"},"v":{"version":"1.0"}},"capacity":{"m":{"value":"1024Mi"}}}]}})");
  EXPECT_EQ(SliceFaults({slice.value()}).size(), 5U) << ::testing::PrintToString(SliceFaults({slice.value()}));
  const OpenApi api("resource.k8s.io-v1-1.36.4.json");
  const auto wrong = json::ParseJson(R"({"spec":{"driver":1,"pool":{"name":"n"},"nodes":"n","devices":[{}]}})");
  EXPECT_THAT(
      api.Check(wrong.value(), "io.k8s.api.resource.v1.ResourceSlice"),
      ::testing::UnorderedElementsAre(".spec.driver: expected string, found integer", ".spec.nodes: no such field",
                                      ".spec.pool.generation: required", ".spec.pool.resourceSliceCount: required",
                                      ".spec.devices[0].name: required"));
}

TEST(Inventory, SeesWhatChangesOnTheMachine) {
  SimRoot root("dgx-h100");
  nvml::HostedLibrary library({.driver_roots = {root.path()}});
  device::Inventory inventory(library, root.sysfs());
  EXPECT_EQ(inventory.Rescan().value().snapshot->devices.size(), 8U);
  EXPECT_FALSE(inventory.Rescan().value().changed);

  root.Update([](sim::Machine& machine) { machine.gpus[5].present = false; });
  auto scan = inventory.Rescan().value();
  EXPECT_TRUE(scan.changed);
  EXPECT_EQ(scan.snapshot->devices.size(), 7U);

  root.Update([](sim::Machine& machine) {
    machine.gpus[5].present = true;
    machine.gpus[2].lost = true;
  });
  scan = inventory.Rescan().value();
  EXPECT_EQ(scan.snapshot->devices.size(), 7U);
  ASSERT_EQ(scan.snapshot->withheld.size(), 1U);
  EXPECT_THAT(scan.snapshot->withheld[0].reason, ::testing::HasSubstr("GPU is lost (15)"));

  root.Update([](sim::Machine& machine) { machine.driver_loaded = false; });
  const auto unloaded = inventory.Rescan();
  ASSERT_FALSE(unloaded.has_value());
  EXPECT_EQ(unloaded.error().code(), "DriverNotLoaded");

  root.Update([](sim::Machine& machine) {
    machine.driver_loaded = true;
    machine.gpus[2].lost = false;
  });
  EXPECT_EQ(inventory.Rescan().value().snapshot->devices.size(), 8U);
}

TEST(Inventory, TheHostLeavesWhenNobodyAsks) {
  const SimRoot root("l4");
  nvml::HostedLibrary library({.driver_roots = {root.path()}, .idle = std::chrono::milliseconds(1)});
  ASSERT_TRUE(library.Read().has_value());
  ASSERT_TRUE(library.Read().has_value()) << "a host that left is replaced without a word";
  library.Release();
  EXPECT_EQ(library.host_pid(), 0);
  EXPECT_TRUE(library.Read().has_value());
}

}  // namespace
}  // namespace tessera::tests
