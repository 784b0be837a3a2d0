// Every simulated machine, read through the real path: child process, dlopen, NVML's C ABI, sysfs. What comes out must be
// what the API takes, and stay what it is.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "device/inventory.h"
#include "device/slices.h"
#include "nvml/hosted_library.h"
#include "sim/profile.h"
#include "tests/support/golden.h"
#include "tests/support/openapi.h"
#include "tests/support/paths.h"
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

// Drivers from R470 on, by the header their NVML was made with: what a machine has does not depend on it.
class HeaderTest : public ::testing::TestWithParam<const char*> {};

TEST_P(HeaderTest, AnOlderDriverTellsLessButNothingElse) {
  const SimRoot newest("dgx-a100-mig");
  const SimRoot root("dgx-a100-mig", [](sim::Machine& machine) { machine.nvml_header = GetParam(); });
  const auto expected = ReadRoot(newest);
  const auto recording = ReadRoot(root);
  ASSERT_TRUE(recording.has_value()) << recording.error().Text();
  const device::Snapshot wanted = device::MakeSnapshot(expected->nvml, expected->pci);
  const device::Snapshot actual = device::MakeSnapshot(recording->nvml, recording->pci);
  ASSERT_EQ(actual.devices.size(), wanted.devices.size());
  for (std::size_t i = 0; i < actual.devices.size(); ++i) {
    device::Device device = actual.devices[i];
    EXPECT_THAT(device.gaps, IsEmpty());
    device.gpu.addressing_mode = wanted.devices[i].gpu.addressing_mode;  // Since 13.0.
    device.gpu.module_id = wanted.devices[i].gpu.module_id;              // Since 12.2.
    device.gpu.recovery_action = wanted.devices[i].gpu.recovery_action;  // Since 12.8.
    EXPECT_EQ(device, wanted.devices[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HeaderTest,
                         ::testing::Values("11.4", "11.6", "11.8", "12.0", "12.2", "12.4", "12.8", "13.0", "13.3"),
                         [](const auto& test) { return "v" + std::string(test.param).replace(2, 1, "_"); });

TEST(OldBoards, MaxwellAndPascalAreOffered) {
  for (const auto& [model, architecture, capability] :
       {std::tuple("quadro-m6000", "Maxwell", "5.2.0"), std::tuple("geforce-gtx-1080", "Pascal", "6.1.0")}) {
    const TempDir dir = TempDir::Create("old-board").value();
    const std::string file = (dir.path() / "old.yaml").string();
    ASSERT_TRUE(ReplaceFile(file, sim::NewProfile(TESSERA_SOURCE_DIR "/sim", model, 1).value()).has_value());
    const SimRoot root(file);
    const auto recording = ReadRoot(root);
    ASSERT_TRUE(recording.has_value()) << recording.error().Text();
    const device::Snapshot snapshot = device::MakeSnapshot(recording->nvml, recording->pci);
    ASSERT_EQ(snapshot.devices.size(), 1U) << model;
    EXPECT_EQ(snapshot.devices[0].gpu.architecture, architecture);
    EXPECT_EQ(snapshot.devices[0].gpu.compute_capability, capability);
  }
}

// Waits for a process that is not ours to end.
bool EndsSoon(int pid) {
  const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (!process) return errno == ESRCH;
  pollfd poll{process.get(), POLLIN, 0};
  return ::poll(&poll, 1, 10'000) == 1;
}

TEST(Host, LeavesWhenNobodyAsks) {
  const SimRoot root("l4");
  nvml::HostedLibrary library({.driver_roots = {root.path()}, .idle = std::chrono::milliseconds(1)});
  ASSERT_TRUE(library.Read().has_value());
  EXPECT_TRUE(EndsSoon(library.host_pid()));
  EXPECT_TRUE(library.Read().has_value()) << "and is replaced without a word";
}

TEST(Host, IsReleasedOnRequest) {
  const SimRoot root("l4");
  nvml::HostedLibrary library({.driver_roots = {root.path()}});
  ASSERT_TRUE(library.Read().has_value());
  const int pid = library.host_pid();
  library.Release();
  EXPECT_EQ(library.host_pid(), 0);
  EXPECT_TRUE(EndsSoon(pid));
}

TEST(Host, DiesWithItsParentEvenInsideAHangingCall) {
  SimRoot root("l4");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    nvml::HostedLibrary library({.driver_roots = {root.path()}});
    static_cast<void>(library.Read());
    const int pid = library.host_pid();
    root.Update([](sim::Machine& machine) { machine.faults = {{.function = "*", .hang_ms = 60'000}}; });
    static_cast<void>(WriteAll(ends[1], std::string_view(reinterpret_cast<const char*>(&pid), sizeof pid)).has_value());
    static_cast<void>(library.Read());  // Hangs until we are killed.
    ::_exit(0);
  }
  int host = 0;
  ASSERT_EQ(::read(ends[0], &host, sizeof host), static_cast<ssize_t>(sizeof host));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(EndsSoon(host));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Host, ThatSendsNonsenseIsAnError) {
  const SimRoot root("l4");
  ::setenv("TESSERA_TEST_HOST", "nonsense", 1);
  nvml::HostedLibrary library({.driver_roots = {root.path()}});
  const auto facts = library.Read();
  ::unsetenv("TESSERA_TEST_HOST");
  ASSERT_FALSE(facts.has_value());
  EXPECT_THAT(facts.error().message(), ::testing::HasSubstr("sent nonsense"));
}

}  // namespace
}  // namespace tessera::tests
