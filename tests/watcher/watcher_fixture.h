// tests/watcher/watcher_fixture.h: a watcher of a simulated machine, through the real child process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "nvml/watcher.h"
#include "tests/support/sim_root.h"

namespace tessera::tests {

class WatcherTest : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds kPatience{60};  // Only a broken watcher takes that long.
  static constexpr unsigned kVictim = 3;

  explicit WatcherTest(const std::string& profile = "dgx-h100") : root_(profile), watcher_(Options()) {}

  nvml::WatchOptions Options() const {
    return {.host = {.driver_roots = {root_.path()},
                     .call_deadline = std::chrono::milliseconds(1'000),
                     .slow_call_deadline = std::chrono::milliseconds(1'000)},
            .period = std::chrono::milliseconds(50)};
  }

  // What is seen next that satisfies `wanted`. Fails the test when nothing does.
  nvml::Observation Await(const std::function<bool(const nvml::Observation&)>& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      auto seen = watcher_.Next(deadline);
      if (!seen.has_value()) {
        ADD_FAILURE() << seen.error().Text();
        return {};
      }
      if (*seen && wanted(**seen)) return **seen;
    }
    ADD_FAILURE() << "nothing of the kind was seen";
    return {};
  }

  // The next reading that began after this call.
  nvml::MachineVitals Reading() {
    const auto has_vitals = [](const nvml::Observation& seen) { return seen.vitals.has_value(); };
    Await(has_vitals);
    return Await(has_vitals).vitals.value_or(nvml::MachineVitals{});
  }

  // The next reading whose victim satisfies `wanted`.
  nvml::MachineVitals ReadingWhere(const std::function<bool(const nvml::GpuVitals&)>& wanted) {
    return Await([&](const nvml::Observation& seen) {
             const nvml::GpuVitals* victim = seen.vitals ? Find(*seen.vitals, Victim()) : nullptr;
             return victim != nullptr && wanted(*victim);
           })
        .vitals.value_or(nvml::MachineVitals{});
  }

  nvml::GpuEvent Event() {
    const auto seen = Await([](const nvml::Observation& o) { return !o.events.empty(); });
    EXPECT_EQ(seen.events.size(), 1U);
    return seen.events.empty() ? nvml::GpuEvent{} : seen.events.front();
  }

  // The error that Next() gives once there is one.
  Error AwaitError() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (auto seen = watcher_.Next(deadline); !seen.has_value()) return seen.error();
    }
    ADD_FAILURE() << "there was no error";
    return Error(ErrorKind::kTransient, "None", "none");
  }

  static const nvml::GpuVitals* Find(const nvml::MachineVitals& machine, const std::string& uuid) {
    const auto gpu = std::ranges::find(machine.gpus, uuid, &nvml::GpuVitals::uuid);
    return gpu == machine.gpus.end() ? nullptr : &*gpu;
  }

  std::string UuidOf(std::size_t index) { return root_.store().Read().value()->gpus.at(index).uuid; }
  std::string Victim() { return UuidOf(kVictim); }

  void ChangeVictim(const std::function<void(sim::Gpu&)>& change) {
    root_.Update([&](sim::Machine& machine) { change(machine.gpus[kVictim]); });
  }
  // A fault of the victim alone; without a function, none.
  void Inject(sim::Fault fault) {
    root_.Update([&](sim::Machine& machine) {
      fault.minor = machine.gpus[kVictim].minor;
      machine.faults = {fault};
    });
  }
  void Emit(std::uint64_t type, std::uint64_t data = 0) {
    ASSERT_TRUE(root_.store().Emit({.minor = Minor(), .type = type, .data = data}).has_value());
  }
  unsigned Minor() { return root_.store().Read().value()->gpus.at(kVictim).minor; }

  // Whoever is not the victim is as in `healthy`.
  void ExpectOthersUntouched(const nvml::MachineVitals& healthy, const nvml::MachineVitals& now) {
    for (const nvml::GpuVitals& expected : healthy.gpus) {
      if (expected.uuid == Victim()) continue;
      const nvml::GpuVitals* found = Find(now, expected.uuid);
      ASSERT_NE(found, nullptr) << expected.uuid;
      EXPECT_EQ(*found, expected) << expected.uuid;
    }
  }

  SimRoot root_;
  nvml::Watcher watcher_;
};

}  // namespace tessera::tests
