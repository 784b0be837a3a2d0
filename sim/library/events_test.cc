// Events and faults through the C ABI.
#include <signal.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "sim/library/library_test.h"

namespace tessera::sim {
namespace {

using namespace abi;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr unsigned kLongMs = 60000;

class EventsTest : public LibraryTest {
 protected:
  void SetUp() override {
    LibraryTest::SetUp();
    Init();
  }

  abi::EventSet MakeSet(unsigned index, unsigned long long types) const {
    abi::EventSet set = nullptr;
    EXPECT_EQ(Call("nvmlEventSetCreate", &set), kSuccess);
    EXPECT_EQ(Call("nvmlDeviceRegisterEvents", Gpu(index), types, set), kSuccess);
    return set;
  }

  Return Wait(abi::EventSet set, unsigned ms, EventData& data) const {
    const auto start = steady_clock::now();
    const Return code = Call("nvmlEventSetWait_v2", set, &data, ms);
    EXPECT_LT(steady_clock::now() - start, std::chrono::milliseconds(kLongMs) / 2) << "woken, not timed out";
    return code;
  }
  Return Wait(abi::EventSet set, unsigned ms = 0) const {
    EventData data{};
    return Wait(set, ms, data);
  }

  void Emit(Event event) const { ASSERT_TRUE(store_->Emit(event).has_value()); }
};

TEST_F(EventsTest, EachSetGetsEachEventOnce) {
  const auto one = MakeSet(1, kEventXidCritical);
  const auto two = MakeSet(1, kEventXidCritical | kEventDoubleBitEcc);
  Emit({.minor = 1, .type = kEventXidCritical, .data = 48, .gpu_instance = 3, .compute_instance = 0});
  Emit({.minor = 1, .type = kEventDoubleBitEcc});
  Emit({.minor = 0, .type = kEventXidCritical, .data = 1});
  EventData data{};
  for (const auto set : {one, two}) {
    ASSERT_EQ(Wait(set, kLongMs, data), kSuccess);
    EXPECT_EQ(data.device, Gpu(1));
    EXPECT_EQ(data.eventType, kEventXidCritical);
    EXPECT_EQ(data.eventData, 48U);
    EXPECT_EQ(data.gpuInstanceId, 3U);
  }
  EXPECT_EQ(Wait(one), kTimeout);
  ASSERT_EQ(Wait(two, 0, data), kSuccess);
  EXPECT_EQ(data.eventType, kEventDoubleBitEcc);
  EXPECT_EQ(data.gpuInstanceId, kNoInstance);
  EXPECT_EQ(Wait(two), kTimeout);
}

TEST_F(EventsTest, OnlyWhatHappensAfterRegistration) {
  Emit({.minor = 1, .type = kEventXidCritical, .data = 1});
  const auto set = MakeSet(0, kEventXidCritical);
  Emit({.minor = 1, .type = kEventXidCritical, .data = 2});
  EXPECT_EQ(Call("nvmlDeviceRegisterEvents", Gpu(1), kEventXidCritical, set), kSuccess);
  EXPECT_EQ(Wait(set), kTimeout);
}

TEST_F(EventsTest, RegisteringWhatTheBoardLacksRegistersNothing) {
  abi::EventSet set = nullptr;
  ASSERT_EQ(Call("nvmlEventSetCreate", &set), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceRegisterEvents", Gpu(3), kEventXidCritical | kEventGpuUnavailable, set), kNotSupported);
  Emit({.minor = 3, .type = kEventXidCritical, .data = 1});
  EXPECT_EQ(Wait(set), kTimeout);
  EXPECT_EQ(Call("nvmlEventSetFree", set), kSuccess);
  EXPECT_EQ(Wait(set), kInvalidArgument);
}

TEST_F(EventsTest, WaitSleepsUntilTheTimeoutAndWakesAtOnce) {
  const auto set = MakeSet(0, kEventXidCritical);
  const auto start = steady_clock::now();
  EXPECT_EQ(Wait(set, 30), kTimeout);
  EXPECT_GE(steady_clock::now() - start, 30ms);
  const std::jthread waiter([&] { EXPECT_EQ(Wait(set, kLongMs), kSuccess); });
  Emit({.minor = 0, .type = kEventXidCritical, .data = 79});
}

TEST_F(EventsTest, LossOfAWatchedGpuIsToldOnce) {
  const auto set = MakeSet(0, kEventXidCritical);
  const std::jthread waiter([&] {
    EXPECT_EQ(Wait(set, kLongMs), kGpuIsLost);
    EXPECT_EQ(Wait(set), kTimeout);
  });
  Update([](Machine& m) { m.gpus[1].lost = true; });  // Not watched.
  Update([](Machine& m) { m.gpus[0].lost = true; });
}

TEST_F(EventsTest, OldWaitWritesTheOldStruct) {
  const auto set = MakeSet(0, kEventXidCritical);
  Emit({.minor = 0, .type = kEventXidCritical, .data = 79});
  EventData data{};
  data.gpuInstanceId = data.computeInstanceId = 77;
  EXPECT_EQ(Call("nvmlEventSetWait", set, &data, 0U), kSuccess);
  EXPECT_EQ(data.eventData, 79U);
  EXPECT_EQ(data.gpuInstanceId, 77U);
}

TEST_F(EventsTest, MigChangesAreAnnounced) {
  const auto set = MakeSet(0, kEventMigConfigChange);
  Return activation = kUnknown;
  ASSERT_EQ(Call("nvmlDeviceSetMigMode", Gpu(0), 1U, &activation), kSuccess);
  EventData data{};
  EXPECT_EQ(Wait(set, kLongMs, data), kSuccess);
  EXPECT_EQ(data.eventType, kEventMigConfigChange);
}

TEST_F(EventsTest, SystemEventsFollowTheDriversHold) {
  SystemEventSetRequest made{.version = VersionOf<SystemEventSetRequest>(1), .set = nullptr};
  ASSERT_EQ(Call("nvmlSystemEventSetCreate", &made), kSuccess);
  SystemRegisterEventRequest asked{
      .version = VersionOf<SystemRegisterEventRequest>(1), .eventTypes = 3, .set = made.set};
  ASSERT_EQ(Call("nvmlSystemRegisterEvents", &asked), kSuccess);
  SystemEventData events[2] = {};
  SystemEventSetWaitRequest wait{.version = VersionOf<SystemEventSetWaitRequest>(1),
                                 .timeoutms = 0,
                                 .set = made.set,
                                 .data = &events[0],
                                 .dataSize = 2,
                                 .numEvent = 0};
  EXPECT_EQ(Call("nvmlSystemEventSetWait", &wait), kTimeout);
  Update([](Machine& m) { m.gpus[1].vfio = true; });
  wait.timeoutms = kLongMs;
  ASSERT_EQ(Call("nvmlSystemEventSetWait", &wait), kSuccess);
  EXPECT_EQ(wait.numEvent, 1U);
  EXPECT_EQ(events[0].eventType, 1U);
  EXPECT_EQ(events[0].gpuId, 0x800U);
  EXPECT_EQ(Call("nvmlSystemEventSetFree", &made), kSuccess);
  EXPECT_EQ(Call("nvmlSystemEventSetFree", &made), kInvalidArgument);
}

// ---- Faults.

Fault MakeFault(std::string function, int code) {
  Fault fault;
  fault.function = std::move(function);
  fault.code = code;
  return fault;
}

TEST_F(EventsTest, FaultsLastAsManyCallsAsAsked) {
  Update([](Machine& m) {
    m.faults = {MakeFault("nvmlDeviceGetUUID", kUnknown)};
    m.faults[0].remaining = 2;
    m.faults[0].minor = 1;
  });
  EXPECT_EQ(Text("nvmlDeviceGetUUID", Gpu(0)).substr(0, 4), "GPU-") << "another GPU";
  EXPECT_EQ(Text("nvmlDeviceGetName", Gpu(1)), "NVIDIA H200") << "another function";
  EXPECT_EQ(Text("nvmlDeviceGetUUID", Gpu(1)), "code 999");
  EXPECT_EQ(Text("nvmlDeviceGetUUID", Gpu(1)), "code 999");
  EXPECT_EQ(Text("nvmlDeviceGetUUID", Gpu(1)).substr(0, 4), "GPU-");
  EXPECT_TRUE(store_->Read().value()->faults.empty());
}

TEST_F(EventsTest, FaultsReachLookUpsInitAndUnsimulatedFunctions) {
  Update([](Machine& m) {
    m.faults = {MakeFault("nvmlDeviceGetHandleByIndex_v2", kNoPermission), MakeFault("nvmlInit_v2", kIrqIssue),
                MakeFault("nvmlDeviceGetFanSpeed", kTimeout)};
    m.faults[0].minor = 1;
  });
  Device device = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 0U, &device), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 1U, &device), kNoPermission);
  EXPECT_EQ(Call("nvmlInit_v2"), kIrqIssue);
  EXPECT_EQ(Call("nvmlDeviceGetFanSpeed"), kTimeout);
  Update([](Machine& m) { m.faults = {MakeFault("*", kCorruptedInforom)}; });
  EXPECT_EQ(Get("nvmlDeviceGetCount_v2"), -kCorruptedInforom);
}

TEST_F(EventsTest, GarbageStaysInsideTheCallersMemory) {
  const Device gpu = Gpu(0);
  Update([](Machine& m) {
    m.faults = {MakeFault("*", 0)};
    m.faults[0].garbage = true;
  });
  char name[10] = "untouched";
  EXPECT_EQ(Call("nvmlDeviceGetName", gpu, &name[0], 8U), kSuccess);
  EXPECT_EQ(std::string(&name[0], 8), std::string(8, '\xA5'));
  EXPECT_EQ(name[8], 'd');
  EXPECT_EQ(Get("nvmlDeviceGetCount_v2"), 0xA5A5A5A5);
  MemoryV2 memory{};
  memory.version = VersionOf<MemoryV2>(2);
  EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo_v2", gpu, &memory), kSuccess);
  EXPECT_EQ(memory.version, VersionOf<MemoryV2>(2));
  EXPECT_EQ(memory.used, 0xA5A5A5A5A5A5A5A5U);
  Device nowhere = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 0U, &nowhere), kSuccess);
  unsigned minor = 0;
  Update([](Machine& m) { m.faults.clear(); });
  EXPECT_EQ(Call("nvmlDeviceGetMinorNumber", nowhere, &minor), kInvalidArgument);
}

TEST_F(EventsTest, HangsAsLongAsAskedWithoutBlockingOthers) {
  Update([](Machine& m) {
    m.faults = {MakeFault("nvmlDeviceGetUUID", 0)};
    m.faults[0].hang_ms = 50;
  });
  const auto start = steady_clock::now();
  EXPECT_EQ(Text("nvmlDeviceGetUUID", Gpu(0)).substr(0, 4), "GPU-");
  EXPECT_GE(steady_clock::now() - start, 50ms);
}

TEST_F(EventsTest, CrashKillsTheCaller) {
  Update([](Machine& m) {
    m.faults = {MakeFault("nvmlDeviceGetName", 0)};
    m.faults[0].crash = true;
  });
  const Device gpu = Gpu(0);
  EXPECT_EXIT((void)Text("nvmlDeviceGetName", gpu), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(EventsTest, LostGpuAnswersNothingElse) {
  const Device gpu = Gpu(0);
  Update([](Machine& m) { m.gpus[0].lost = true; });
  EXPECT_EQ(Text("nvmlDeviceGetUUID", gpu), "code 15");
  Device again = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 0U, &again), kGpuIsLost);
  EXPECT_EQ(Get("nvmlDeviceGetCount_v2"), 4) << "it is still counted";
  Update([](Machine& m) {
    m.gpus[0].lost = false;
    m.gpus[0].present = false;
  });
  EXPECT_EQ(Text("nvmlDeviceGetUUID", gpu), "code 15") << "unplugged";
  EXPECT_EQ(Get("nvmlDeviceGetCount_v2"), 3);
}

}  // namespace
}  // namespace tessera::sim
