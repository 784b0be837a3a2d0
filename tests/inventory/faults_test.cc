// Every NVML function the inventory calls, misbehaving in every way it plausibly can: the rest of the inventory stays
// right, and the program answers within its deadline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include "base/text.h"
#include "device/inventory.h"
#include "device/snapshot_json.h"
#include "nvml/hosted_library.h"
#include "tests/support/sim_root.h"

namespace tessera::tests {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCallDeadline{1'000};  // Long enough for a busy machine under a sanitizer.
constexpr milliseconds kReadDeadline{30'000};
constexpr unsigned kVictim = 1;  // Of dgx-a100-mig: a GPU with MIG devices, so that every function is called on it.

nvml::HostOptions Options(const SimRoot& root) {
  return {.driver_roots = {root.path()},
          .call_deadline = kCallDeadline,
          .slow_call_deadline = kCallDeadline,
          .read_deadline = kReadDeadline};
}

// Functions without which there is no answer at all.
bool IsVital(std::string_view function) {
  return function.starts_with("nvmlInit") || function == "nvmlDeviceGetCount_v2";
}
// Called only when the library lacks the newer form.
std::string NewerForm(std::string_view function) {
  if (function == "nvmlInit_v2") return "nvmlInitWithFlags";
  if (function == "nvmlDeviceGetGpuFabricInfo") return "nvmlDeviceGetGpuFabricInfoV";
  return {};
}
bool IsSystem(std::string_view function) {
  return function.starts_with("nvmlSystem") || function == "nvmlShutdown" || IsVital(function);
}

device::Snapshot Scan(nvml::GpuLibrary& library, const SimRoot& root) {
  const auto recording = device::Record(library, root.sysfs());
  if (!recording.has_value()) {
    ADD_FAILURE() << recording.error().Text();
    return {};
  }
  return device::MakeSnapshot(recording->nvml, recording->pci);
}

// Whether a gap or a reason names the function.
bool Mentions(const device::Snapshot& snapshot, std::string_view function) {
  for (const auto& device : snapshot.devices) {
    for (const auto& gap : device.gaps) {
      if (gap.function == function) return true;
    }
  }
  return std::ranges::any_of(snapshot.withheld,
                             [&](const auto& w) { return w.reason.find(function) != std::string::npos; });
}

auto FullGpus(const device::Snapshot& snapshot) {
  return std::ranges::count_if(snapshot.devices, [](const auto& device) { return !device.mig.has_value(); });
}

// One machine a function, because making one costs more than all the faults on it.
class FaultTest : public ::testing::TestWithParam<std::string_view> {
 protected:
  // The fault on the victim alone, or on the machine for functions that are not about one GPU.
  void Inject(sim::Fault fault) {
    root_.Update([&](sim::Machine& machine) {
      fault.function = function_;
      if (!IsSystem(function_)) fault.minor = machine.gpus[kVictim].minor;
      machine.faults = {fault};
    });
  }

  // All that is not the victim's must be exactly as without the fault.
  void ExpectOthersUntouched(const device::Snapshot& actual, bool all = false) {
    const auto others = [all](const device::Snapshot& snapshot) {
      std::vector<device::Device> devices;
      std::ranges::copy_if(snapshot.devices, std::back_inserter(devices),
                           [all](const device::Device& d) { return all || d.gpu.index != kVictim; });
      return devices;
    };
    const auto expected = others(healthy_);
    const auto found = others(actual);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      device::Device device = found[i];
      // An island is named after its lowest UUID, and the victim may be that; what it groups must not change.
      device.gpu.nvlink_island = expected[i].gpu.nvlink_island;
      EXPECT_EQ(device, expected[i]) << expected[i].name;
    }
  }

  // A vital function that fails is an error with a code and advice; others of the machine cost one answer.
  void FailTheMachineWithEveryCode() {
    for (const int code : {1, 2, 3, 4, 9, 12, 13, 15, 17, 18, 20, 27, 28, 999, 12345}) {
      SCOPED_TRACE(Format("code {}", code));
      Inject({.code = code});
      if (!IsVital(function_)) {
        ExpectOthersUntouched(Scan(library_, root_), true);
        continue;
      }
      const auto facts = library_.Read();
      ASSERT_FALSE(facts.has_value());
      EXPECT_THAT(facts.error().message(), ::testing::HasSubstr(Format("({})", code)));
      EXPECT_FALSE(facts.error().advice().empty());
    }
  }

  void FailWithEveryCode() {
    for (const int code : {1, 2, 3, 4, 6, 7, 13, 14, 15, 16, 17, 20, 25, 999, 12345}) {
      SCOPED_TRACE(Format("code {}", code));
      Inject({.code = code});
      const device::Snapshot actual = Scan(library_, root_);
      ExpectOthersUntouched(actual);
      // What NVML calls unsupported, out of range or not found is an ordinary answer to some questions.
      if (code == 15 || code == 999) {
        EXPECT_TRUE(Mentions(actual, function_)) << "nobody is told";
      }
    }
  }

  // Hanging or crashing once costs that answer, and for a vital function the read.
  void LoseTheHost(const sim::Fault& fault, const std::string& outcome) {
    SCOPED_TRACE(outcome);
    Inject(fault);
    nvml::HostedLibrary library(Options(root_));
    const auto start = std::chrono::steady_clock::now();
    if (IsVital(function_)) {
      const auto facts = library.Read();
      ASSERT_FALSE(facts.has_value());
      EXPECT_EQ(facts.error().code(), "NvmlHost");
      EXPECT_THAT(facts.error().message(), ::testing::HasSubstr(function_ + ": the NVML host " + outcome));
    } else {
      ExpectOthersUntouched(Scan(library, root_));
      ExpectOthersUntouched(Scan(library, root_));  // Also by a host that was told what to avoid.
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, 2 * kReadDeadline);
  }

  // Where every GPU fails, every GPU says so; where two do, the others are still offered.
  void CrashOnSeveralGpus() {
    root_.Update([&](sim::Machine& machine) { machine.faults = {{.function = function_, .crash = true}}; });
    nvml::HostedLibrary library(Options(root_));
    EXPECT_TRUE(Mentions(Scan(library, root_), function_));

    root_.Update([&](sim::Machine& machine) {
      machine.faults = {{.function = function_, .minor = machine.gpus[6].minor, .crash = true},
                        {.function = function_, .minor = machine.gpus[0].minor, .crash = true}};
    });
    nvml::HostedLibrary again(Options(root_));
    const device::Snapshot actual = Scan(again, root_);
    EXPECT_TRUE(std::ranges::any_of(actual.devices, [](const auto& d) { return d.name == "gpu-7"; }));
  }

  const std::string function_{GetParam()};
  SimRoot root_{"dgx-a100-mig"};
  nvml::HostedLibrary library_{Options(root_)};
  const device::Snapshot healthy_ = Scan(library_, root_);
};

TEST_P(FaultTest, CostsAtMostItsOwnAnswer) {
  ASSERT_EQ(healthy_.devices.size(), 20U);
  if (const std::string newer = NewerForm(function_); !newer.empty()) {
    ASSERT_TRUE(HideFunction(root_.path(), newer).has_value());
    library_.Release();
    ASSERT_EQ(Scan(library_, root_), healthy_) << "the older form serves as well";
  }
  if (IsSystem(function_)) {
    FailTheMachineWithEveryCode();
  } else if (function_ != "nvmlDeviceGetGpuFabricInfo") {  // An A100 has no fabric, so its failure is no news.
    FailWithEveryCode();
    Inject({.garbage = true});
    ExpectOthersUntouched(Scan(library_, root_));
    CrashOnSeveralGpus();
  }
  LoseTheHost({.hang_ms = 60'000}, "did not answer within 1 s");
  LoseTheHost({.crash = true}, "was killed by signal 11");
  root_.Update([](sim::Machine& machine) { machine.faults.clear(); });
  EXPECT_EQ(Scan(library_, root_), healthy_) << "a fault that is gone leaves nothing behind";
}

TEST_P(FaultTest, MissingFromAnOldDriverCostsAtMostItsOwnAnswer) {
  const auto hidden = HideFunction(root_.path(), function_);
  ASSERT_TRUE(hidden.has_value()) << hidden.error().Text();
  nvml::HostedLibrary library(Options(root_));
  if (function_ == "nvmlInit_v2" || function_ == "nvmlDeviceGetCount_v2") {
    EXPECT_EQ(library.Read().error().code(), "DriverNotFound") << "no NVML has ever been without";
    return;
  }
  const device::Snapshot actual = Scan(library, root_);
  // Identity cannot be done without, nor can a MIG device without its size and place; without the MIG mode no GPU can be
  // told to have it. Everything else costs what the function told, and nothing more.
  if (function_ == "nvmlDeviceGetHandleByIndex_v2" || function_ == "nvmlDeviceGetUUID" ||
      function_ == "nvmlDeviceGetMinorNumber") {
    EXPECT_TRUE(actual.devices.empty());
    EXPECT_FALSE(actual.withheld.empty());
    return;
  }
  if (function_ == "nvmlDeviceGetMigMode") {
    EXPECT_EQ(FullGpus(actual), 8);
    return;
  }
  EXPECT_EQ(FullGpus(actual), FullGpus(healthy_));
  const bool about_mig = function_.find("Mig") != std::string::npos ||
                         function_.find("Instance") != std::string::npos || function_ == "nvmlDeviceGetAttributes_v2";
  if (about_mig) {
    EXPECT_FALSE(actual.withheld.empty());
    return;
  }
  ASSERT_EQ(actual.devices.size(), healthy_.devices.size());
  for (const device::Device& device : healthy_.devices) {
    const auto same = std::ranges::find(actual.devices, device.name, &device::Device::name);
    ASSERT_NE(same, actual.devices.end()) << device.name;
    const json::Value before = json::Encode(device.gpu);
    const json::Value after = json::Encode(same->gpu);
    std::size_t lost = 0;
    for (const auto& item : before.as_object()) {
      const json::Value* now = after.as_object().if_contains(item.key());
      if (now == nullptr || *now != item.value()) ++lost;
    }
    EXPECT_LE(lost, 4U) << "NVLink's state is behind four fields, everything else behind fewer";
  }
}

INSTANTIATE_TEST_SUITE_P(Every, FaultTest,
                         ::testing::ValuesIn(std::span(nvml::kFunctionNames).first<nvml::kInventoryFunctionCount>()),
                         [](const auto& test) { return std::string(test.param); });

TEST(FaultsTogether, AGpuThatHangsInEveryCallIsGivenUp) {
  SimRoot root("dgx-h100");
  root.Update([](sim::Machine& machine) {
    machine.faults = {{.function = "nvmlDeviceGetName", .minor = machine.gpus[4].minor, .hang_ms = 60'000},
                      {.function = "nvmlDeviceGetSerial", .minor = machine.gpus[4].minor, .crash = true},
                      {.function = "nvmlDeviceGetBrand", .minor = machine.gpus[4].minor, .crash = true}};
  });
  nvml::HostedLibrary library(Options(root));
  const auto facts = library.Read();
  ASSERT_TRUE(facts.has_value()) << facts.error().Text();
  EXPECT_EQ(facts->gpus.size(), 8U);
  EXPECT_TRUE(facts->gpus[4].uuid.empty());
  EXPECT_FALSE(facts->gpus[4].gaps.empty());
  EXPECT_EQ(device::MakeSnapshot(*facts, {}).devices.size(), 7U);
}

TEST(FaultsTogether, GpusThatHangInLookUpDoNotTakeTheOthersAlong) {
  SimRoot root("dgx-h100");
  root.Update([](sim::Machine& machine) {
    for (const std::size_t i : {0U, 3U, 7U}) {
      machine.faults.push_back(
          {.function = "nvmlDeviceGetHandleByIndex_v2", .minor = machine.gpus[i].minor, .hang_ms = 60'000});
    }
  });
  nvml::HostedLibrary library(Options(root));
  const auto facts = library.Read();
  ASSERT_TRUE(facts.has_value()) << facts.error().Text();
  EXPECT_EQ(device::MakeSnapshot(*facts, {}).devices.size(), 5U);
}

TEST(FaultsTogether, WhatIsAvoidedFollowsTheHardware) {
  SimRoot root("dgx-h100");
  root.Update([](sim::Machine& machine) {
    machine.faults = {{.function = "nvmlDeviceGetName", .minor = machine.gpus[7].minor, .crash = true}};
  });
  nvml::HostedLibrary library(Options(root));
  ASSERT_TRUE(library.Read().has_value());
  root.Update([](sim::Machine& machine) {
    machine.faults.clear();
    machine.gpus[0].present = false;  // What was index 7 is index 6 now.
  });
  const auto facts = library.Read();
  ASSERT_TRUE(facts.has_value()) << facts.error().Text();
  ASSERT_EQ(facts->gpus.size(), 7U);
  for (const auto& gpu : facts->gpus) EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3") << gpu.index;
}

TEST(FaultsTogether, WhatWasAvoidedIsTriedAgainLater) {
  SimRoot root("l4");
  root.Update([](sim::Machine& machine) {
    machine.faults = {{.function = "nvmlDeviceGetName", .remaining = 1, .crash = true}};
  });
  nvml::HostOptions options = Options(root);
  options.avoid_for = std::chrono::minutes(0);
  nvml::HostedLibrary library(options);
  static_cast<void>(library.Read());
  const auto again = library.Read();
  ASSERT_TRUE(again.has_value()) << again.error().Text();
  EXPECT_EQ(again->gpus.at(0).name, "NVIDIA L4");
}

}  // namespace
}  // namespace tessera::tests
