// Every signal of a GPU's condition arrives, from that GPU alone.
#include <gmock/gmock.h>

#include "nvml/abi.h"
#include "nvml/event_batch.h"
#include "tests/watcher/watcher_fixture.h"

namespace tessera::tests {
namespace {

namespace abi = nvml::abi;
using nvml::GpuVitals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using SignalTest = WatcherTest;

TEST_F(SignalTest, TheFirstReadingIsOfAllGpus) {
  const auto machine = root_.store().Read().value();
  const auto vitals = Reading();
  EXPECT_EQ(vitals.driver_version, machine->driver_version);
  EXPECT_THAT(vitals.gaps, IsEmpty());
  ASSERT_EQ(vitals.gpus.size(), machine->gpus.size());
  for (std::size_t i = 0; i < vitals.gpus.size(); ++i) {
    const GpuVitals& gpu = vitals.gpus[i];
    EXPECT_EQ(gpu.uuid, machine->gpus[i].uuid);
    EXPECT_FALSE(gpu.lost || gpu.silent);
    EXPECT_THAT(gpu.gaps, IsEmpty());
    EXPECT_EQ(gpu.ecc_uncorrected_lifetime, 0U);
    EXPECT_EQ(gpu.remap_pending, false);
    EXPECT_EQ(gpu.retired_corrected, std::nullopt) << "Hopper remaps rows and retires no pages";
    EXPECT_EQ(gpu.pcie_width, gpu.pcie_width_max);
    EXPECT_EQ(gpu.busy, false);
    EXPECT_EQ(gpu.recovery_action, 0U);
    EXPECT_EQ(gpu.fabric->state, 3U);
    EXPECT_THAT(gpu.links, SizeIs(18));
  }
}

struct Signal {
  std::string_view name;
  void (*happen)(sim::Gpu&);
  bool (*arrived)(const GpuVitals&);
};

TEST_F(SignalTest, EachPolledSignalArrivesFromItsGpuAlone) {
  constexpr std::array kSignals{
      Signal{"corrected ECC", [](sim::Gpu& g) { g.ecc.corrected_volatile = 7; },
             [](const GpuVitals& v) { return v.ecc_corrected == 7; }},
      Signal{"uncorrected ECC", [](sim::Gpu& g) { g.ecc.uncorrected_volatile = 2; },
             [](const GpuVitals& v) { return v.ecc_uncorrected == 2; }},
      Signal{"corrected ECC of a lifetime", [](sim::Gpu& g) { g.ecc.corrected_aggregate = 70; },
             [](const GpuVitals& v) { return v.ecc_corrected_lifetime == 70; }},
      Signal{"uncorrected ECC of a lifetime", [](sim::Gpu& g) { g.ecc.uncorrected_aggregate = 20; },
             [](const GpuVitals& v) { return v.ecc_uncorrected_lifetime == 20; }},
      Signal{"remapped rows",
             [](sim::Gpu& g) { g.remapped = {.correctable = 1, .uncorrectable = 2, .pending = true, .failed = false}; },
             [](const GpuVitals& v) {
               return v.remapped_corrected == 1 && v.remapped_uncorrected == 2 && v.remap_pending == true &&
                      v.remap_failed == false;
             }},
      Signal{"failed remapping", [](sim::Gpu& g) { g.remapped.failed = true; },
             [](const GpuVitals& v) { return v.remap_failed == true; }},
      Signal{"link down", [](sim::Gpu& g) { g.links[4].up = false; },
             [](const GpuVitals& v) { return v.links.size() == 18 && !v.links[4].active && v.links[5].active; }},
      Signal{"link errors",
             [](sim::Gpu& g) {
               g.links[2].replay_errors = 3;
               g.links[2].recovery_errors = 4;
               g.links[2].crc_flit_errors = 5;
             },
             [](const GpuVitals& v) {
               return v.links.at(2).replay_errors == 3 && v.links[2].recovery_errors == 4 && v.links[2].crc_errors == 5;
             }},
      Signal{"heat", [](sim::Gpu& g) { g.temperature = 91; }, [](const GpuVitals& v) { return v.temperature == 91; }},
      Signal{"slowdown", [](sim::Gpu& g) { g.clocks_event_reasons = abi::kClocksHardwareSlowdown; },
             [](const GpuVitals& v) { return v.slowdown_reasons == abi::kClocksHardwareSlowdown; }},
      Signal{"narrow PCIe", [](sim::Gpu& g) { g.pcie_width = 4; },
             [](const GpuVitals& v) { return v.pcie_width == 4 && v.pcie_width_max == 16; }},
      Signal{"slow PCIe", [](sim::Gpu& g) { g.pcie_generation = 1; },
             [](const GpuVitals& v) { return v.pcie_generation == 1 && v.pcie_generation_max == 5; }},
      Signal{"load", [](sim::Gpu& g) { g.utilization = 80; }, [](const GpuVitals& v) { return v.busy == true; }},
      Signal{"fabric", [](sim::Gpu& g) { g.fabric->health_mask = 0x1A9; },
             [](const GpuVitals& v) { return v.fabric->health_mask == 0x1A9U; }},
      Signal{"recovery advice", [](sim::Gpu& g) { g.recovery_action = 2; },
             [](const GpuVitals& v) { return v.recovery_action == 2; }},
  };
  const auto healthy = Reading();
  for (const Signal& signal : kSignals) {
    SCOPED_TRACE(signal.name);
    ChangeVictim(signal.happen);
    ExpectOthersUntouched(healthy, ReadingWhere(signal.arrived));
  }
}

TEST_F(SignalTest, EventsNameTheirGpu) {
  Reading();
  for (const auto type : {abi::kEventSingleBitEcc, abi::kEventDoubleBitEcc, abi::kEventXidCritical,
                          abi::kEventMigConfigChange, abi::kEventRecoveryAction, abi::kEventGpuUnavailable}) {
    Emit(type, type == abi::kEventXidCritical ? 48 : 0);
    const auto event = Event();
    EXPECT_EQ(event.type, type);
    EXPECT_EQ(event.data, type == abi::kEventXidCritical ? 48U : 0U);
    EXPECT_EQ(event.uuid, Victim());
    EXPECT_EQ(event.gpu_instance, std::nullopt);
    EXPECT_EQ(event.count, 1U);
  }
}

TEST_F(SignalTest, AnEventIsFollowedByAReadingAtOnce) {
  nvml::WatchOptions options = Options();
  options.period = std::chrono::hours(1);
  nvml::Watcher watcher(options);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto next_reading = [&] {
    for (;;) {
      auto seen = watcher.Next(deadline).value();
      if (!seen || seen->vitals) return seen ? seen->vitals : std::nullopt;
    }
  };
  ASSERT_TRUE(next_reading());
  ChangeVictim([](sim::Gpu& gpu) { gpu.recovery_action = 1; });
  Emit(abi::kEventXidCritical, 154);
  const auto after = next_reading();
  ASSERT_TRUE(after);
  EXPECT_EQ(Find(*after, Victim())->recovery_action, 1U);
}

TEST_F(SignalTest, AFloodOfOneXidIsOneEventWithACount) {
  constexpr std::uint64_t kFlood = 900;  // Fewer than the simulator keeps.
  Reading();
  for (std::uint64_t i = 0; i < kFlood; ++i) Emit(abi::kEventXidCritical, 13);
  std::uint64_t counted = 0;
  while (counted < kFlood && !HasFailure()) counted += Event().count;
  EXPECT_EQ(counted, kFlood);
}

TEST_F(SignalTest, AFloodOfManyKindsIsCutAndCounted) {
  constexpr std::uint64_t kFlood = 900;
  Reading();
  const int pid = watcher_.host_pid();
  for (std::uint64_t i = 0; i < kFlood; ++i) Emit(abi::kEventXidCritical, 1'000 + i);
  std::uint64_t counted = 0;
  while (counted < kFlood && !HasFailure()) {
    const auto seen = Await([](const nvml::Observation& o) { return !o.events.empty(); });
    EXPECT_LE(seen.events.size(), nvml::EventBatch::kMostKinds);
    counted += seen.events.size() + seen.dropped;
  }
  EXPECT_EQ(counted, kFlood);
  EXPECT_EQ(watcher_.host_pid(), pid);
}

class MigSignalTest : public WatcherTest {
 protected:
  MigSignalTest() : WatcherTest("dgx-a100-mig") {}
};

TEST_F(MigSignalTest, AnEventOfAnInstanceNamesIt) {
  Reading();
  const sim::Event event{
      .minor = Minor(), .type = abi::kEventXidCritical, .data = 94, .gpu_instance = 2, .compute_instance = 0};
  ASSERT_TRUE(root_.store().Emit(event).has_value());
  const auto seen = Event();
  EXPECT_EQ(seen.uuid, Victim());
  EXPECT_EQ(seen.gpu_instance, 2U);
  EXPECT_EQ(seen.compute_instance, 0U);
}

TEST_F(MigSignalTest, WithMigOnTheClocksSayWhetherItIsBusy) {
  ReadingWhere([](const GpuVitals& v) { return v.busy == false; });
  ChangeVictim([](sim::Gpu& gpu) { gpu.clocks_event_reasons = 0; });
  ReadingWhere([](const GpuVitals& v) { return v.busy == true; });
}

class OldBoardTest : public WatcherTest {
 protected:
  OldBoardTest() : WatcherTest("t4") {}
};

TEST_F(OldBoardTest, RetiredPagesArriveWhereRowsAreNotRemapped) {
  root_.Update([](sim::Machine& machine) {
    machine.gpus[0].retired_pages = 3;
    machine.gpus[0].retired_pages_single_bit = 2;
    machine.gpus[0].retired_pending = true;
  });
  const GpuVitals gpu = Reading().gpus.at(0);
  EXPECT_EQ(gpu.retired_uncorrected, 3U);
  EXPECT_EQ(gpu.retired_corrected, 2U);
  EXPECT_EQ(gpu.retirement_pending, true);
  EXPECT_EQ(gpu.remap_pending, std::nullopt);
}

}  // namespace
}  // namespace tessera::tests
