// What goes wrong with one GPU, with the driver or with the host costs what is about it, and nothing else.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "nvml/abi.h"
#include "tests/watcher/watcher_fixture.h"

namespace tessera::tests {
namespace {

namespace abi = nvml::abi;
using nvml::GpuVitals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

// Whether a gap names the function, and why it has no answer.
bool Mentions(const std::vector<nvml::Gap>& gaps, std::string_view function, std::string_view reason = {}) {
  return std::ranges::any_of(gaps, [&](const nvml::Gap& gap) {
    return gap.function == function && gap.reason.find(reason) != std::string::npos;
  });
}

// Waits for a process that is not ours to end.
bool EndsSoon(int pid) {
  const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (!process) return errno == ESRCH;
  pollfd poll{process.get(), POLLIN, 0};
  return ::poll(&poll, 1, 10'000) == 1;
}

using WatchFaultTest = WatcherTest;

TEST_F(WatchFaultTest, ALostGpuIsNamedAndComesBack) {
  const auto healthy = Reading();
  ChangeVictim([](sim::Gpu& gpu) { gpu.lost = true; });
  Emit(abi::kEventXidCritical, 79);
  bool told = false;
  const auto seen = Await([&](const nvml::Observation& o) {
    told = told || std::ranges::any_of(o.events, [&](const auto& e) { return e.data == 79 && e.uuid == Victim(); });
    return told && o.vitals && Find(*o.vitals, Victim())->lost;
  });
  ASSERT_TRUE(seen.vitals);
  ExpectOthersUntouched(healthy, *seen.vitals);
  ChangeVictim([](sim::Gpu& gpu) { gpu.lost = false; });
  EXPECT_EQ(ReadingWhere([](const GpuVitals& v) { return !v.lost; }), healthy);
  Emit(abi::kEventXidCritical, 13);
  EXPECT_EQ(Event().uuid, Victim()) << "its events come again as well";
}

TEST_F(WatchFaultTest, AGpuThatIsLostToANewHostKeepsItsName) {
  const auto healthy = Reading();
  Inject({.function = "nvmlDeviceGetTemperature", .crash = true});  // Costs the host.
  ChangeVictim([](sim::Gpu& gpu) { gpu.lost = true; });
  ExpectOthersUntouched(healthy, ReadingWhere([](const GpuVitals& v) { return v.lost; }));
}

TEST_F(WatchFaultTest, AnUnpluggedGpuIsLostAndThePluggedOneIsBack) {
  const auto healthy = Reading();
  ChangeVictim([](sim::Gpu& gpu) { gpu.present = false; });
  ExpectOthersUntouched(healthy, ReadingWhere([](const GpuVitals& v) { return v.lost; }));
  ChangeVictim([](sim::Gpu& gpu) { gpu.present = true; });
  EXPECT_EQ(ReadingWhere([](const GpuVitals& v) { return !v.lost; }), healthy);
}

TEST_F(WatchFaultTest, AHangMakesItsGpuSilentAndNoOther) {
  const auto healthy = Reading();
  Inject({.function = "nvmlDeviceGetTemperature", .hang_ms = 600'000});
  const auto hung = ReadingWhere([](const GpuVitals& v) { return v.silent; });
  ExpectOthersUntouched(healthy, hung);
  EXPECT_TRUE(Mentions(Find(hung, Victim())->gaps, "nvmlDeviceGetHandleByIndex_v2",
                       "nvmlDeviceGetTemperature: the NVML host did not answer within 1 s"));
  EXPECT_EQ(Find(hung, Victim())->temperature, std::nullopt);
  ExpectOthersUntouched(healthy, Reading());

  root_.Update([](sim::Machine& machine) { machine.faults.clear(); });
  watcher_.Restart();
  EXPECT_EQ(ReadingWhere([](const GpuVitals& v) { return !v.silent; }), healthy);
}

TEST_F(WatchFaultTest, AnXidIsToldThoughItsGpuHangsInTheReadingThatFollows) {
  nvml::WatchOptions options = Options();
  options.period = std::chrono::hours(1);  // The Xid alone causes a reading.
  nvml::Watcher watcher(options);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  ASSERT_TRUE(watcher.Next(deadline).value()->vitals);
  Inject({.function = "nvmlDeviceGetTemperature", .hang_ms = 600'000});
  Emit(abi::kEventXidCritical, 48);
  std::vector<nvml::GpuEvent> events;
  bool silent = false;
  while (!silent && std::chrono::steady_clock::now() < deadline) {
    const auto seen = watcher.Next(deadline).value();
    if (!seen) continue;
    events.insert(events.end(), seen->events.begin(), seen->events.end());
    silent = seen->vitals && Find(*seen->vitals, Victim())->silent;
  }
  EXPECT_TRUE(silent);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.front().uuid, Victim());
  EXPECT_EQ(events.front().data, 48U);
}

TEST_F(WatchFaultTest, ASilentGpuIsTriedAgain) {
  nvml::WatchOptions options = Options();
  options.host.avoid_for = std::chrono::minutes(0);
  nvml::Watcher watcher(options);
  Inject({.function = "nvmlDeviceGetTemperature", .remaining = 1, .hang_ms = 600'000});
  const auto deadline = steady_clock::now() + kPatience;
  bool was_silent = false;
  for (;;) {
    const auto seen = watcher.Next(deadline).value();
    ASSERT_TRUE(seen) << "it never came back";
    if (!seen->vitals) continue;
    const GpuVitals* victim = Find(*seen->vitals, Victim());
    was_silent = was_silent || victim == nullptr || victim->silent;
    if (was_silent && victim != nullptr && victim->temperature) break;
  }
}

TEST_F(WatchFaultTest, GpusThatHangInLookUpLeaveTheOthers) {
  root_.Update([](sim::Machine& machine) {
    for (const std::size_t i : {0U, 7U}) {
      machine.faults.push_back(
          {.function = "nvmlDeviceGetHandleByIndex_v2", .minor = machine.gpus[i].minor, .hang_ms = 600'000});
    }
  });
  const auto vitals = Reading();
  EXPECT_EQ(vitals.gpus.size(), 6U);
  EXPECT_TRUE(Mentions(vitals.gaps, "nvmlDeviceGetHandleByIndex_v2", "GPU with index 7"));
}

TEST_F(WatchFaultTest, AGpuThatIsSlowInEveryCallDoesNotHoldUpTheOthers) {
  const auto healthy = Reading();
  Inject({.function = "*", .hang_ms = 300});
  const auto slow = Reading();
  ExpectOthersUntouched(healthy, slow);
  const GpuVitals* victim = Find(slow, Victim());
  ASSERT_NE(victim, nullptr);
  EXPECT_TRUE(Mentions(victim->gaps, "nvmlDeviceGetNvLinkState", "takes too long"));
}

TEST_F(WatchFaultTest, ACrashCostsTheCallItHappenedIn) {
  const auto healthy = Reading();
  Inject({.function = "nvmlDeviceGetTemperature", .crash = true});
  const auto after = ReadingWhere([](const GpuVitals& v) { return !v.temperature; });
  ExpectOthersUntouched(healthy, after);
  const GpuVitals& victim = *Find(after, Victim());
  EXPECT_TRUE(Mentions(victim.gaps, "nvmlDeviceGetTemperature", "was killed by signal 11"));
  EXPECT_FALSE(victim.silent);
  EXPECT_EQ(victim.ecc_corrected, 0U) << "the rest of it is still read";
}

// Each function the watcher asks a GPU, failing in every way it plausibly can.
class AnyFunctionTest : public WatcherTest, public ::testing::WithParamInterface<std::string_view> {
 protected:
  // The fault from the start: some functions are called only then.
  nvml::MachineVitals ReadingWith(sim::Fault fault) {
    fault.function = GetParam();
    Inject(fault);
    watcher_.Restart();
    return Reading();
  }
  // Asked apart from the vitals, which follow at once.
  static bool IsAboutEvents() {
    return GetParam() == "nvmlDeviceGetSupportedEventTypes" || GetParam() == "nvmlDeviceRegisterEvents";
  }
  // Whether a gap says which function failed.
  bool IsTold(const nvml::MachineVitals& vitals) {
    const GpuVitals* victim = Find(vitals, Victim());
    std::vector<nvml::Gap> gaps = vitals.gaps;
    if (victim != nullptr) gaps.insert(gaps.end(), victim->gaps.begin(), victim->gaps.end());
    return std::ranges::any_of(gaps, [](const nvml::Gap& gap) {
      return gap.function == GetParam() || gap.reason.find(GetParam()) != std::string::npos;
    });
  }
};

TEST_P(AnyFunctionTest, FailingOnOneGpuIsToldAndLeavesTheOthersAlone) {
  const auto healthy = Reading();
  for (const int code : {1, 2, 4, 9, 15, 17, 999, 12345}) {
    SCOPED_TRACE(Format("code {}", code));
    const auto vitals = ReadingWith({.code = code});
    ExpectOthersUntouched(healthy, vitals);
    const GpuVitals* victim = Find(vitals, Victim());
    EXPECT_TRUE(code != 15 || IsAboutEvents() || victim == nullptr || victim->lost);
    EXPECT_TRUE((code != 15 && code != 999) || IsTold(vitals));
  }
  ExpectOthersUntouched(healthy, ReadingWith({.garbage = true}));
  const auto crashed = ReadingWith({.crash = true});
  ExpectOthersUntouched(healthy, crashed);
  EXPECT_TRUE(IsTold(crashed));
}

INSTANTIATE_TEST_SUITE_P(Every, AnyFunctionTest,
                         ::testing::Values("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID",
                                           "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetSupportedEventTypes",
                                           "nvmlDeviceRegisterEvents", "nvmlDeviceGetTotalEccErrors",
                                           "nvmlDeviceGetRemappedRows", "nvmlDeviceGetRetiredPages",
                                           "nvmlDeviceGetTemperature", "nvmlDeviceGetCurrentClocksEventReasons",
                                           "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetCurrPcieLinkGeneration",
                                           "nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetGpuFabricInfoV",
                                           "nvmlDeviceGetFieldValues", "nvmlDeviceGetNvLinkState",
                                           "nvmlDeviceGetNvLinkErrorCounter"),
                         [](const auto& test) { return std::string(test.param); });

// ---- Events.

TEST_F(WatchFaultTest, AGpuThatCannotBeRegisteredSaysSoAndTheOthersAreHeard) {
  Inject({.function = "nvmlDeviceRegisterEvents", .code = 999});
  const auto vitals = Reading();
  EXPECT_TRUE(Mentions(Find(vitals, Victim())->gaps, "nvmlDeviceRegisterEvents", "999"));
  ASSERT_TRUE(root_.store().Emit({.minor = 0, .type = abi::kEventXidCritical, .data = 31}).has_value());
  EXPECT_EQ(Event().uuid, UuidOf(0));
}

TEST_F(WatchFaultTest, AnEventWaitThatHangsCostsTheEventsOnly) {
  const auto healthy = Reading();
  root_.Update(
      [](sim::Machine& machine) { machine.faults = {{.function = "nvmlEventSetWait_v2", .hang_ms = 600'000}}; });
  const auto seen = Await([](const nvml::Observation& o) {
    return o.vitals && Mentions(o.vitals->gaps, "nvmlEventSetWait_v2", "did not answer within");
  });
  ASSERT_TRUE(seen.vitals);
  EXPECT_EQ(seen.vitals->gpus, healthy.gpus);
}

TEST_F(WatchFaultTest, AnEventWaitThatAnswersAtOnceDoesNotSpin) {
  constexpr std::int64_t kMany = 1'000'000;
  for (const bool garbage : {false, true}) {
    const auto start = steady_clock::now();
    root_.Update([&](sim::Machine& machine) {
      machine.faults = {{.function = "nvmlEventSetWait_v2",
                         .code = garbage ? abi::kSuccess : abi::kUnknown,
                         .remaining = kMany,
                         .garbage = garbage}};
    });
    Await([&](const nvml::Observation& o) {
      return o.vitals && Mentions(o.vitals->gaps, "nvmlEventSetWait_v2", garbage ? "garbage" : "999");
    });
    for (int i = 0; i < 5; ++i) Reading();
    const auto spent = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
    const std::int64_t calls = kMany - root_.store().Read().value()->faults.at(0).remaining;
    EXPECT_LE(calls, 2 + spent / milliseconds(100)) << "in " << spent.count() << " ms";
  }
}

// ---- The driver.

TEST_F(WatchFaultTest, ADriverThatIsUnloadedIsAnErrorUntilItIsBack) {
  const auto healthy = Reading();
  root_.Update([](sim::Machine& machine) { machine.driver_loaded = false; });
  EXPECT_EQ(AwaitError().code(), "DriverNotLoaded");
  EXPECT_EQ(AwaitError().code(), "DriverNotLoaded") << "it is tried again";
  root_.Update([](sim::Machine& machine) { machine.driver_loaded = true; });
  const auto deadline = steady_clock::now() + kPatience;
  while (!watcher_.Next(deadline).has_value() && steady_clock::now() < deadline) {
  }
  EXPECT_EQ(Reading(), healthy);
}

TEST_F(WatchFaultTest, AnOlderDriverCostsWhatItLacks) {
  for (const char* function : {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetTemperature",
                               "nvmlEventSetWait_v2", "nvmlDeviceGetFieldValues", "nvmlDeviceGetRemappedRows"}) {
    ASSERT_TRUE(HideFunction(root_.path(), function).has_value());
  }
  const auto vitals = Reading();
  EXPECT_TRUE(Mentions(vitals.gaps, "nvmlEventSetWait_v2", "the driver does not have it"));
  const GpuVitals& gpu = vitals.gpus.at(0);
  EXPECT_TRUE(gpu.gaps.empty()) << "what an old driver never had is no gap";
  EXPECT_EQ(gpu.slowdown_reasons, abi::kClocksIdle) << "under its older name";
  EXPECT_TRUE(gpu.temperature) << "by its newer form";
  EXPECT_EQ(gpu.recovery_action, std::nullopt);
  EXPECT_EQ(gpu.remap_pending, std::nullopt);
}

// ---- The host.

TEST_F(WatchFaultTest, ReleaseLetsGoOfTheDriverUntilResumed) {
  Reading();
  const int pid = watcher_.host_pid();
  EXPECT_TRUE(watcher_.Release());
  EXPECT_TRUE(EndsSoon(pid));
  const auto nothing = watcher_.Next(steady_clock::now() + milliseconds(200));
  ASSERT_TRUE(nothing.has_value()) << nothing.error().Text();
  EXPECT_FALSE(*nothing);
  EXPECT_EQ(watcher_.host_pid(), 0);
  watcher_.Resume();
  const auto vitals = Reading();
  EXPECT_EQ(vitals.gpus.size(), 8U);
  EXPECT_FALSE(Find(vitals, Victim())->silent) << "nobody is blamed for it";
}

TEST_F(WatchFaultTest, OrdersFromOtherThreadsWakeTheWatcher) {
  Reading();
  watcher_.Release();
  const std::jthread other([&] { watcher_.Interrupt(); });
  const auto seen = watcher_.Next(steady_clock::now() + std::chrono::hours(1));
  ASSERT_TRUE(seen.has_value());
  EXPECT_FALSE(*seen);
}

TEST_F(WatchFaultTest, AfterARestartOnlyWhatIsThereIsKnown) {
  Reading();
  ChangeVictim([](sim::Gpu& gpu) { gpu.vfio = true; });
  ReadingWhere([](const GpuVitals& v) { return v.lost; });
  watcher_.Restart();
  const auto seen = Await([&](const nvml::Observation& o) { return o.vitals && o.vitals->gpus.size() == 7; });
  ASSERT_TRUE(seen.vitals);
  EXPECT_EQ(Find(*seen.vitals, Victim()), nullptr) << "it was given away, not lost";
}

TEST_F(WatchFaultTest, AKilledHostIsReplaced) {
  const auto healthy = Reading();
  ASSERT_EQ(::kill(watcher_.host_pid(), SIGKILL), 0);
  const auto deadline = steady_clock::now() + kPatience;
  while (!watcher_.Next(deadline).has_value() && steady_clock::now() < deadline) {
  }
  EXPECT_EQ(Reading().gpus.size(), healthy.gpus.size());
}

TEST_F(WatchFaultTest, AHostThatSendsNonsenseIsAnError) {
  ::setenv("TESSERA_TEST_HOST", "nonsense", 1);
  const auto error = AwaitError();
  ::unsetenv("TESSERA_TEST_HOST");
  EXPECT_THAT(error.message(), HasSubstr("sent nonsense"));
}

TEST_F(WatchFaultTest, TheHostDiesWithItsParentEvenInsideAHangingCall) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    nvml::WatchOptions options = Options();
    options.host.call_deadline = options.host.slow_call_deadline = std::chrono::hours(1);
    nvml::Watcher watcher(options);
    static_cast<void>(watcher.Next(steady_clock::now() + kPatience));
    const int pid = watcher.host_pid();
    root_.Update([](sim::Machine& machine) { machine.faults = {{.function = "*", .hang_ms = 600'000}}; });
    static_cast<void>(WriteAll(ends[1], std::string_view(reinterpret_cast<const char*>(&pid), sizeof pid)).has_value());
    for (;;) static_cast<void>(watcher.Next(steady_clock::now() + kPatience));  // Until we are killed.
  }
  int host = 0;
  ASSERT_EQ(::read(ends[0], &host, sizeof host), static_cast<ssize_t>(sizeof host));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(EndsSoon(host));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace tessera::tests
