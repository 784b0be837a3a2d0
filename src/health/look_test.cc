#include "health/look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "health/test_parts.h"

namespace tessera::health {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kProduct = "NVIDIA H200";

// The kinds that are bad in a look: present, or just happened.
std::vector<std::string> Bad(const Look& look) {
  std::vector<std::string> kinds;
  for (const Signal& signal : look.signals) {
    if (signal.sight != Sight::kAbsent) kinds.push_back(ToText(signal.kind));
  }
  return kinds;
}

const Signal* Find(const Look& look, Kind kind) {
  for (const Signal& signal : look.signals) {
    if (signal.kind == kind) return &signal;
  }
  return nullptr;
}

// Looks at good vitals first, then at these.
Look After(const nvml::GpuVitals& before, const nvml::GpuVitals& now, const Policy& policy = {}) {
  Trail trail;
  (void)LookAt(before, policy, kProduct, At(seconds{0}), trail);
  return LookAt(now, policy, kProduct, At(seconds{5}), trail);
}

TEST(Look, FindsNothingInGoodVitals) {
  const Look look = After(GoodVitals(0), GoodVitals(0));
  EXPECT_THAT(Bad(look), IsEmpty());
  EXPECT_TRUE(look.answered);
  EXPECT_FALSE(look.reset);
  EXPECT_EQ(look.advice, std::nullopt);
}

TEST(Look, SeesEachFaultInWhatNvmlSays) {
  struct Case {
    std::string_view name;
    std::function<void(nvml::GpuVitals&)> change;
    std::vector<std::string> expected;
    std::string_view found;
  };
  const std::vector<Case> cases{
      {"uncorrected, volatile", [](auto& v) { v.ecc_uncorrected = 3; }, {"EccUncorrected"}, "3 within 1h"},
      {"uncorrected, lifetime only", [](auto& v) { v.ecc_uncorrected_lifetime = 9; }, {"EccUncorrected"}, "2 within"},
      {"both counters show the same errors",
       [](auto& v) {
         v.ecc_uncorrected = 2;
         v.ecc_uncorrected_lifetime = 9;
       },
       {"EccUncorrected"},
       "2 within"},
      {"few corrected", [](auto& v) { v.ecc_corrected = 999; }, {}, ""},
      {"many corrected", [](auto& v) { v.ecc_corrected = 1000; }, {"EccCorrected"}, "1000 within 1h"},
      {"remap pending", [](auto& v) { v.remap_pending = true; }, {"RowRemapPending"}, ""},
      {"remap failed", [](auto& v) { v.remap_failed = true; }, {"RowRemapFailed"}, ""},
      {"retirement pending", [](auto& v) { v.retirement_pending = true; }, {"PageRetirementPending"}, ""},
      {"few retired pages", [](auto& v) { v.retired_corrected = 59; }, {}, ""},
      {"many retired pages",
       [](auto& v) {
         v.retired_corrected = 50;
         v.retired_uncorrected = 10;
       },
       {"PagesRetired"},
       "60 pages"},
      {"a link down", [](auto& v) { v.links[2].active = false; }, {"NvlinkDown"}, "link 2"},
      {"two links down", [](auto& v) { v.links[0].active = v.links[3].active = false; }, {"NvlinkDown"}, "links 0, 3"},
      {"few link errors", [](auto& v) { v.links[1].replay_errors = 99; }, {}, ""},
      {"link errors over all links",
       [](auto& v) {
         v.links[1].replay_errors = 60;
         v.links[2].crc_errors = 40;
       },
       {"NvlinkErrors"},
       "100 within 1m"},
      {"hardware thermal", [](auto& v) { v.slowdown_reasons = 0x48; }, {"ThermalSlowdown"}, "40 °C"},
      {"software thermal", [](auto& v) { v.slowdown_reasons = 0x20; }, {"ThermalSlowdown"}, ""},
      {"power brake", [](auto& v) { v.slowdown_reasons = 0x88; }, {"PowerSlowdown"}, "power brake"},
      {"hardware slowdown of neither kind", [](auto& v) { v.slowdown_reasons = 0x8; }, {"PowerSlowdown"}, ""},
      {"both", [](auto& v) { v.slowdown_reasons = 0xC8; }, {"ThermalSlowdown", "PowerSlowdown"}, ""},
      {"the software power cap is no fault", [](auto& v) { v.slowdown_reasons = 0x4; }, {}, ""},
      {"idle and its clocks are no fault", [](auto& v) { v.slowdown_reasons = 0x113; }, {}, ""},
      {"narrow PCIe", [](auto& v) { v.pcie_width = 8; }, {"PcieDegraded"}, "generation 5 x8 of 5 x16"},
      {"slow PCIe", [](auto& v) { v.pcie_generation = 3; }, {"PcieDegraded"}, "generation 3 x16 of 5 x16"},
      {"reset wanted", [](auto& v) { v.recovery_action = 1; }, {"RecoveryAction"}, "reset the GPU"},
      {"reboot wanted", [](auto& v) { v.recovery_action = 2; }, {"RecoveryAction"}, "reboot the node"},
      {"unknown advice", [](auto& v) { v.recovery_action = 99; }, {"RecoveryAction"}, "99"},
      {"no advice", [](auto& v) { v.recovery_action = 0; }, {}, ""},
      {"fabric not started", [](auto& v) { v.fabric = {.state = 1}; }, {"FabricNotReady"}, "not started"},
      {"fabric in progress", [](auto& v) { v.fabric = {.state = 2}; }, {"FabricNotReady"}, "under way"},
      {"no fabric", [](auto& v) { v.fabric = {.state = 0}; }, {}, ""},
      {"fabric good", [](auto& v) { v.fabric = {.state = 3, .health_mask = 0x1AA}; }, {}, ""},
      {"fabric registration error", [](auto& v) { v.fabric = {.state = 3, .status = 999}; }, {"FabricFailed"}, "999"},
      {"fabric route unhealthy",
       [](auto& v) { v.fabric = {.state = 3, .health_mask = 0x19A}; },
       {"FabricFailed"},
       "route"},
      {"fabric too few links",
       [](auto& v) { v.fabric = {.state = 3, .health_mask = 0x5AA}; },
       {"FabricFailed"},
       "too few NVLinks"},
      {"fabric configuration of the future",
       [](auto& v) { v.fabric = {.state = 3, .health_mask = 0xFAA}; },
       {"FabricFailed"},
       "(15)"},
      {"fabric bandwidth",
       [](auto& v) { v.fabric = {.state = 3, .health_mask = 0x1A9}; },
       {"FabricDegraded"},
       "bandwidth"},
      {"fabric route recovery",
       [](auto& v) { v.fabric = {.state = 3, .health_mask = 0x1A6}; },
       {"FabricDegraded"},
       "route"},
      {"lost", [](auto& v) { v.lost = true; }, {"GpuLost"}, "lost"},
      {"silent", [](auto& v) { v.silent = true; }, {"GpuSilent"}, "deadline"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    nvml::GpuVitals vitals = GoodVitals(0);
    c.change(vitals);
    const Look look = After(GoodVitals(0), vitals);
    ASSERT_EQ(Bad(look), c.expected);
    for (const Signal& signal : look.signals) {
      EXPECT_EQ(signal.place, (Place{Uuid(0), {}, {}}));
      const bool absent = signal.sight == Sight::kAbsent;
      EXPECT_THAT(signal.found, HasSubstr(absent || c.expected.size() > 1 ? "" : c.found));
      EXPECT_TRUE(!absent || signal.found.empty()) << signal.found;
    }
  }
}

TEST(Look, SaysWhatIsNotThereAnyMore) {
  nvml::GpuVitals bad = GoodVitals(0);
  bad.remap_pending = bad.remap_failed = true;
  bad.recovery_action = 1;
  bad.links[1].active = false;
  nvml::GpuVitals good = GoodVitals(0);
  good.recovery_action = 0;
  good.fabric = {.state = 3, .health_mask = 0x1AA};
  const Look look = After(bad, good);
  for (const Kind kind : {Kind::kRowRemapPending, Kind::kRowRemapFailed, Kind::kRecoveryAction, Kind::kNvlinkDown,
                          Kind::kThermalSlowdown, Kind::kPowerSlowdown, Kind::kPcieDegraded, Kind::kFabricFailed,
                          Kind::kFabricDegraded, Kind::kFabricNotReady, Kind::kGpuLost, Kind::kGpuSilent}) {
    SCOPED_TRACE(ToText(kind));
    const Signal* signal = Find(look, kind);
    ASSERT_NE(signal, nullptr);
    EXPECT_EQ(signal->sight, Sight::kAbsent);
  }
}

TEST(Look, WhatWasNotReadGivesNoSignal) {
  nvml::GpuVitals vitals;
  vitals.uuid = Uuid(0);
  const Look look = After(GoodVitals(0), vitals);
  std::vector<std::string> kinds;
  for (const Signal& signal : look.signals) kinds.push_back(ToText(signal.kind));
  EXPECT_THAT(kinds, UnorderedElementsAre("GpuSilent", "GpuLost"));
}

TEST(Look, ErrorsFromBeforeTheFirstLookAreNoNews) {
  nvml::GpuVitals vitals = GoodVitals(0);
  vitals.ecc_uncorrected = vitals.ecc_uncorrected_lifetime = 12;
  vitals.links[0].active = false;
  vitals.links[1].crc_errors = 100000;
  Trail trail;
  EXPECT_THAT(Bad(LookAt(vitals, {}, kProduct, At(seconds{0}), trail)), IsEmpty());
}

TEST(Look, ACounterThatWasUnreadableForAWhileIsComparedWithItsLastValue) {
  Trail trail;
  nvml::GpuVitals vitals = GoodVitals(0);
  vitals.ecc_uncorrected = 1;
  (void)LookAt(vitals, {}, kProduct, At(seconds{0}), trail);
  vitals.ecc_uncorrected = std::nullopt;
  EXPECT_THAT(Bad(LookAt(vitals, {}, kProduct, At(seconds{5}), trail)), IsEmpty());
  vitals.ecc_uncorrected = 2;
  EXPECT_THAT(Bad(LookAt(vitals, {}, kProduct, At(seconds{10}), trail)), ElementsAre("EccUncorrected"));
}

TEST(Look, AnIdleLinkIsNeitherGoodNorBad) {
  nvml::GpuVitals idle = GoodVitals(0);
  idle.busy = false;
  idle.pcie_generation = 1;
  EXPECT_EQ(Find(After(GoodVitals(0), idle), Kind::kPcieDegraded), nullptr);
  idle.busy = std::nullopt;
  EXPECT_EQ(Find(After(GoodVitals(0), idle), Kind::kPcieDegraded), nullptr);
  idle.pcie_generation = 5;
  const Look full = After(GoodVitals(0), idle);
  ASSERT_NE(Find(full, Kind::kPcieDegraded), nullptr) << "at full speed it is good, idle or not";
  EXPECT_EQ(Find(full, Kind::kPcieDegraded)->sight, Sight::kAbsent);
}

TEST(Look, ErrorsAreCountedWithinTheWindow) {
  const Policy policy = Policy::Parse("version: 1\nreasons: {EccUncorrected: {threshold: 3, window: 1m}}").value();
  Trail trail;
  nvml::GpuVitals vitals = GoodVitals(0);
  const std::vector<std::pair<int, std::uint64_t>> looks{{0, 0}, {10, 2}, {80, 4}, {90, 5}};
  std::vector<bool> found;
  for (const auto& [at, count] : looks) {
    vitals.ecc_uncorrected = count;
    found.push_back(!Bad(LookAt(vitals, policy, kProduct, At(seconds{at}), trail)).empty());
  }
  EXPECT_THAT(found, ElementsAre(false, false, false, true)) << "two in one minute, three in the next";
}

TEST(Look, SeesThatAGpuWasReset) {
  nvml::GpuVitals before = GoodVitals(0), lost = GoodVitals(0), silent = GoodVitals(0);
  before.ecc_corrected = 5;
  before.links[0].crc_errors = 9;
  lost.lost = true;
  silent.silent = true;
  EXPECT_TRUE(After(before, GoodVitals(0)).reset) << "counters that began anew";
  EXPECT_TRUE(After(lost, GoodVitals(0)).reset) << "back from being lost";
  EXPECT_FALSE(After(silent, GoodVitals(0)).reset) << "slow is not reset";
  nvml::GpuVitals cleared = before;
  cleared.ecc_uncorrected_lifetime = 0;
  EXPECT_FALSE(After(before, cleared).reset) << "somebody cleared the lifetime counters";

  Trail trail;
  for (const nvml::GpuVitals& vitals : {lost, silent}) (void)LookAt(vitals, {}, kProduct, At(seconds{0}), trail);
  EXPECT_TRUE(LookAt(GoodVitals(0), {}, kProduct, At(seconds{5}), trail).reset) << "silence does not hide the loss";
}

TEST(Look, AdviceSaysHowBadItIs) {
  const std::map<unsigned, Severity> expected{
      {0, Severity::kNone},     {1, Severity::kUnusable}, {2, Severity::kUnusable}, {3, Severity::kDegraded},
      {4, Severity::kUnusable}, {5, Severity::kDegraded}, {6, Severity::kUnusable}};
  for (const auto& [action, severity] : expected) {
    nvml::GpuVitals vitals = GoodVitals(0);
    vitals.recovery_action = action;
    const Look look = After(GoodVitals(0), vitals);
    EXPECT_EQ(look.advice, severity) << action;
    ASSERT_NE(Find(look, Kind::kRecoveryAction), nullptr);
    EXPECT_EQ(Find(look, Kind::kRecoveryAction)->next.empty(), action == 0);
  }
}

TEST(Events, BecomeSignalsOfTheInstanceThatNvmlNames) {
  const auto xid = SignalOf(
      {.type = nvml::abi::kEventXidCritical, .data = 94, .uuid = "GPU-a", .gpu_instance = 3, .compute_instance = 0});
  ASSERT_TRUE(xid);
  EXPECT_EQ(xid->kind, Kind::kXid);
  EXPECT_EQ(xid->detail, "94");
  EXPECT_EQ(xid->place, (Place{"GPU-a", 3, 0}));
  const auto ecc = SignalOf({.type = nvml::abi::kEventDoubleBitEcc, .uuid = "GPU-a"});
  ASSERT_TRUE(ecc);
  EXPECT_EQ(ecc->kind, Kind::kEccUncorrected);
  const auto gone = SignalOf({.type = nvml::abi::kEventGpuUnavailable, .uuid = "GPU-a"});
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->kind, Kind::kGpuLost);
}

TEST(Events, WithoutAGpuOrWithoutMeaningGiveNoSignal) {
  EXPECT_FALSE(SignalOf({.type = nvml::abi::kEventXidCritical, .data = 79}));
  EXPECT_FALSE(SignalOf({.type = nvml::abi::kEventPState, .uuid = "GPU-a"}));
  EXPECT_FALSE(SignalOf({.type = nvml::abi::kEventRecoveryAction, .uuid = "GPU-a"}));
}

TEST(Events, ThatSayLittleAskForALook) {
  EXPECT_TRUE(WantsLook({.type = nvml::abi::kEventRecoveryAction}));
  EXPECT_TRUE(WantsLook({.type = nvml::abi::kEventXidCritical}));
  EXPECT_TRUE(WantsLook({.type = nvml::abi::kEventGpuUnavailable}));
  EXPECT_FALSE(WantsLook({.type = nvml::abi::kEventSingleBitEcc}));
  EXPECT_FALSE(WantsLook({.type = nvml::abi::kEventClock}));
}

}  // namespace
}  // namespace tessera::health
