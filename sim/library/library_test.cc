// The simulated library as its callers see it: sessions, enumeration, identity, structs, faults.
#include "sim/library/library_test.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <thread>

#include "sim/elf.h"
#include "sim/symbols.h"

namespace tessera::sim {
namespace {

namespace fs = std::filesystem;
using namespace abi;

TEST_F(LibraryTest, ExportsEveryPublicFunctionAndNothingElse) {
  const auto image = ReadFile(root() / "usr/lib/libnvidia-ml.so.1", std::size_t{1} << 30U);
  ASSERT_TRUE(image.has_value()) << image.error().Text();
  const auto names = DynamicSymbols(*image);
  ASSERT_TRUE(names.has_value()) << names.error().Text();
  std::set<std::string> expected;
  for (const Symbol& symbol : AllSymbols()) expected.emplace(symbol.name);
  EXPECT_EQ(std::set<std::string>(names->begin(), names->end()), expected);
  for (const auto& name : expected) EXPECT_NE(::dlsym(library_, name.c_str()), nullptr) << name;
}

TEST_F(LibraryTest, CountsInitsAndRefusesSurplusShutdown) {
  unsigned count = 0;
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), kUninitialized);
  EXPECT_EQ(Call("nvmlShutdown"), kUninitialized);
  Init();
  EXPECT_EQ(Call("nvmlInitWithFlags", kInitNoGpus), kSuccess);
  EXPECT_EQ(Call("nvmlShutdown"), kSuccess);
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), kSuccess);
  EXPECT_EQ(Call("nvmlShutdown"), kSuccess);
  EXPECT_EQ(Call("nvmlShutdown"), kUninitialized);
  EXPECT_EQ(Call("nvmlDeviceGetCount_v2", &count), kUninitialized);
}

TEST_F(LibraryTest, InitSaysWhatIsWrongWithTheDriver) {
  Update([](Machine& m) { m.kernel_version = "570.1"; });
  EXPECT_EQ(Call("nvmlInit_v2"), kLibRmVersionMismatch);
  Update([](Machine& m) { m.driver_loaded = false; });
  EXPECT_EQ(Call("nvmlInit_v2"), kDriverNotLoaded);
  Update([](Machine& m) {
    m.driver_loaded = true;
    m.kernel_version = m.driver_version;
    for (auto& gpu : m.gpus) gpu.vfio = true;
  });
  EXPECT_EQ(Call("nvmlInit_v2"), kGpuNotFound);
  EXPECT_EQ(Call("nvmlInitWithFlags", kInitNoGpus), kSuccess);
  EXPECT_EQ(Get("nvmlDeviceGetCount_v2"), 0);
  Update([](Machine& m) { m.driver_loaded = false; });
  EXPECT_EQ(Get("nvmlDeviceGetCount_v2"), -kDriverNotLoaded);
}

TEST_F(LibraryTest, NoStateIsNoDriver) {
  const fs::path elsewhere = dir_.path() / "libnvidia-ml.so.1";
  fs::copy_file(root() / "usr/lib/libnvidia-ml.so.1", elsewhere);
  void* library = ::dlopen(elsewhere.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto init = reinterpret_cast<Return (*)()>(::dlsym(library, "nvmlInit_v2"));
  EXPECT_EQ(init(), fs::exists(fs::path("/") / kStateDir) ? kSuccess : kDriverNotLoaded);
  ASSERT_EQ(::setenv("TESSERA_SIM_STATE", (root() / kStateDir).c_str(), 1), 0);
  EXPECT_EQ(init(), kSuccess) << "the environment names the state";
  ASSERT_EQ(::unsetenv("TESSERA_SIM_STATE"), 0);
  ::dlclose(library);
}

TEST_F(LibraryTest, ErrorTextsAreNvidias) {
  const auto text = reinterpret_cast<const char* (*)(Return)>(::dlsym(library_, "nvmlErrorString"));
  EXPECT_STREQ(text(kSuccess), "Success");
  EXPECT_STREQ(text(kGpuIsLost), "GPU is lost");
  EXPECT_STREQ(text(kResetTypeNotSupported), "Reset type is not supported for given device");
  EXPECT_STREQ(text(12345), "Unknown Error");
}

TEST_F(LibraryTest, SystemFacts) {
  Init();
  char buffer[80];
  EXPECT_EQ(Call("nvmlSystemGetDriverVersion", &buffer[0], 80U), kSuccess);
  EXPECT_STREQ(buffer, "580.159.04");
  EXPECT_EQ(Call("nvmlSystemGetNVMLVersion", &buffer[0], 80U), kSuccess);
  EXPECT_STREQ(buffer, "13.580.159.04");
  EXPECT_EQ(Get<int>("nvmlSystemGetCudaDriverVersion"), 13000);
  DriverBranchInfo branch{.version = VersionOf<DriverBranchInfo>(1), .branch = {}};
  EXPECT_EQ(Call("nvmlSystemGetDriverBranch", &branch, 80U), kSuccess);
  EXPECT_STREQ(branch.branch, "r582_49");
  ConfComputeCaps caps{};
  EXPECT_EQ(Call("nvmlSystemGetConfComputeCapabilities", &caps), kSuccess);
  EXPECT_EQ(caps.gpusCaps, 1U);
  EXPECT_EQ(Text("nvmlSystemGetProcessName", 4000000000U), "code 6");
}

TEST_F(LibraryTest, EnumeratesWhatThisProcessMayOpen) {
  Init();
  EXPECT_EQ(Get("nvmlDeviceGetCount_v2"), 4);
  Device none = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", 4U, &none), kInvalidArgument);
  std::set<Device> handles;
  for (unsigned i = 0; i < 4; ++i) handles.insert(Gpu(i));
  EXPECT_EQ(handles.size(), 4U) << "distinct";
  EXPECT_TRUE(handles.contains(Gpu(2))) << "and stable";
  EXPECT_EQ(Get("nvmlDeviceGetIndex", Gpu(2)), 2);
  EXPECT_EQ(Call("nvmlShutdown"), kSuccess);

  // A container that got only the nodes of GPUs 1 and 3.
  fs::remove(root() / "dev/nvidia0");
  fs::remove(root() / "dev/nvidia2");
  Init();
  EXPECT_EQ(Get("nvmlDeviceGetCount"), 2);
  EXPECT_EQ(Get("nvmlDeviceGetMinorNumber", Gpu(0)), 1);
  EXPECT_EQ(Get("nvmlDeviceGetMinorNumber", Gpu(1)), 3);
  EXPECT_EQ(Get("nvmlDeviceGetIndex", Gpu(1)), 1);
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUID", "GPU-00000001-1111-2222-3333-444444444444", &none), kNotFound);
}

TEST_F(LibraryTest, FindsByUuidBusIdAndSerial) {
  Init();
  struct Case {
    const char* function;
    const char* key;
    Return code;
  };
  constexpr Case kCases[] = {
      {"nvmlDeviceGetHandleByUUID", "GPU-00000002-1111-2222-3333-444444444444", kSuccess},
      {"nvmlDeviceGetHandleByUUID", "GPU-ffffffff-1111-2222-3333-444444444444", kNotFound},
      {"nvmlDeviceGetHandleByUUID", "nonsense", kNotFound},
      {"nvmlDeviceGetHandleByUUID", nullptr, kInvalidArgument},
      {"nvmlDeviceGetHandleByPciBusId_v2", "00000000:08:00.0", kSuccess},
      {"nvmlDeviceGetHandleByPciBusId_v2", "0000:08:00", kSuccess},
      {"nvmlDeviceGetHandleByPciBusId", "08:00.0", kSuccess},
      {"nvmlDeviceGetHandleByPciBusId_v2", "0000:09:00.0", kNotFound},
      {"nvmlDeviceGetHandleByPciBusId_v2", "0000:zz:00.0", kInvalidArgument},
      {"nvmlDeviceGetHandleBySerial", "1653021000001", kSuccess},
      {"nvmlDeviceGetHandleBySerial", "1", kNotFound},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(Format("{} {}", c.function, c.key == nullptr ? "null" : c.key));
    Device found = nullptr;
    EXPECT_EQ(Call(c.function, c.key, &found), c.code);
    EXPECT_TRUE(c.code != kSuccess || found == Gpu(1));
  }
  abi::Uuid binary{.version = VersionOf<abi::Uuid>(1), .type = 2, .value = {}};
  constexpr std::array<unsigned char, 16> kBytes = {0,    0,    0,    2,    0x11, 0x11, 0x22, 0x22,
                                                    0x33, 0x33, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44};
  std::ranges::copy(kBytes, binary.value.bytes);
  Device found = nullptr;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUIDV", &binary, &found), kSuccess);
  EXPECT_EQ(found, Gpu(1));
  binary.version = 1;
  EXPECT_EQ(Call("nvmlDeviceGetHandleByUUIDV", &binary, &found), kArgumentVersionMismatch);
}

TEST_F(LibraryTest, H200IsTheBoardThatWasObserved) {
  Init();
  const Device gpu = Gpu(0);
  EXPECT_EQ(Text("nvmlDeviceGetName", gpu), "NVIDIA H200");
  EXPECT_EQ(Text("nvmlDeviceGetUUID", gpu), "GPU-00000001-1111-2222-3333-444444444444");
  EXPECT_EQ(Text("nvmlDeviceGetSerial", gpu), "1653021000000");
  EXPECT_EQ(Text("nvmlDeviceGetBoardPartNumber", gpu), "692-2G520-0282-000");
  EXPECT_EQ(Text("nvmlDeviceGetVbiosVersion", gpu), "96.00.A5.00.1A");
  EXPECT_EQ(Get("nvmlDeviceGetBrand", gpu), 14);
  EXPECT_EQ(Get("nvmlDeviceGetArchitecture", gpu), 9);
  EXPECT_EQ(Get("nvmlDeviceGetNumGpuCores", gpu), 16896);
  EXPECT_EQ(Get("nvmlDeviceGetMemoryBusWidth", gpu), 6016);
  EXPECT_EQ(Get("nvmlDeviceGetPowerManagementLimit", gpu), 700000);
  EXPECT_EQ(Get("nvmlDeviceGetTemperatureThreshold", gpu, 1U), 89);
  EXPECT_EQ(Get("nvmlDeviceGetTemperatureThreshold", gpu, 4U), -kNotSupported);
  EXPECT_EQ(Get("nvmlDeviceGetTemperatureThreshold", gpu, 8U), -kInvalidArgument);
  EXPECT_EQ(Get("nvmlDeviceGetRetiredPagesPendingStatus", gpu), -kNotSupported);
  EXPECT_EQ(Get("nvmlDeviceGetNumaNodeId", gpu), -kNotSupported);
  EXPECT_EQ(Get<unsigned long long>("nvmlDeviceGetSupportedEventTypes", gpu), 0xFF9F);
  EXPECT_EQ(Get("nvmlDeviceGetNvLinkState", gpu, 0U), -kNotSupported);
  EXPECT_EQ(Get("nvmlDeviceGetNvLinkState", gpu, 99U), -kNotSupported);

  Memory memory{};
  EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo", gpu, &memory), kSuccess);
  EXPECT_EQ(memory.total, 150754820096ULL);
  EXPECT_EQ(memory.free, 150109880320ULL);
  EXPECT_EQ(memory.used, 644939776ULL);
  MemoryV2 split{};
  split.version = VersionOf<MemoryV2>(2);
  EXPECT_EQ(Call("nvmlDeviceGetMemoryInfo_v2", gpu, &split), kSuccess);
  EXPECT_EQ(split.reserved, 644939776ULL);
  EXPECT_EQ(split.used, 0ULL);

  PciInfo pci{};
  EXPECT_EQ(Call("nvmlDeviceGetPciInfo_v3", gpu, &pci), kSuccess);
  EXPECT_STREQ(pci.busId, "00000000:07:00.0");
  EXPECT_STREQ(pci.busIdLegacy, "0000:07:00.0");
  EXPECT_EQ(pci.pciDeviceId, 0x233510DEU);
  EXPECT_EQ(pci.pciSubSystemId, 0x18BF10DEU);

  FabricInfo fabric{};
  fabric.state = 9;
  EXPECT_EQ(Call("nvmlDeviceGetGpuFabricInfo", gpu, &fabric), kSuccess);
  EXPECT_EQ(fabric.state, 0);
  C2cModeInfo c2c{.isC2cEnabled = 9};
  EXPECT_EQ(Call("nvmlDeviceGetC2cModeInfoV", gpu, &c2c), kSuccess);
  EXPECT_EQ(c2c.isC2cEnabled, 0U);
  EXPECT_EQ(Call("nvmlDeviceGetGpuFabricInfo", Gpu(3), &fabric), kNotSupported) << "a T4 has no fabric";
}

TEST_F(LibraryTest, TextNeedsABufferThatHoldsIt) {
  Init();
  char name[12];
  EXPECT_EQ(Call("nvmlDeviceGetName", Gpu(0), &name[0], 11U), kInsufficientSize);
  EXPECT_EQ(Call("nvmlDeviceGetName", Gpu(0), &name[0], 12U), kSuccess);
  EXPECT_STREQ(name, "NVIDIA H200");
  EXPECT_EQ(Call("nvmlDeviceGetName", Gpu(0), static_cast<char*>(nullptr), 96U), kInvalidArgument);
}

TEST_F(LibraryTest, WrongStructVersionsAreRefusedAsObserved) {
  Init();
  struct Case {
    const char* function;
    Return code;
  };
  constexpr Case kCases[] = {
      {"nvmlDeviceGetMemoryInfo_v2", kFunctionNotFound},
      {"nvmlDeviceGetGpuFabricInfoV", kArgumentVersionMismatch},
      {"nvmlDeviceGetAddressingMode", kArgumentVersionMismatch},
      {"nvmlDeviceGetTemperatureV", kArgumentVersionMismatch},
      {"nvmlDeviceGetPciInfoExt", kArgumentVersionMismatch},
      {"nvmlDeviceGetRepairStatus", kArgumentVersionMismatch},
      {"nvmlDeviceGetSramEccErrorStatus", kArgumentVersionMismatch},
      {"nvmlDeviceGetNvLinkInfo", kArgumentVersionMismatch},
      {"nvmlDeviceGetCapabilities", kArgumentVersionMismatch},
      {"nvmlDeviceGetPlatformInfo", kSuccess},
  };
  for (const Case& c : kCases) {
    for (const unsigned version : {0U, 2U}) {
      SCOPED_TRACE(Format("{} version {}", c.function, version));
      alignas(8) std::array<unsigned, 512> buffer{version};
      EXPECT_EQ(Call(c.function, Gpu(0), &buffer[0]), c.code);
      EXPECT_EQ(buffer[0], c.code == kSuccess ? VersionOf<PlatformInfo>(2) : version);
    }
    EXPECT_EQ(Call(c.function, Gpu(0), static_cast<void*>(nullptr)), kInvalidArgument) << c.function;
  }
}

TEST_F(LibraryTest, OldSymbolsWriteOldStructs) {
  Update(
      [](Machine& m) { m.gpus[0].processes = {{.pid = 42, .memory = 7, .gpu_instance = {}, .compute_instance = {}}}; });
  Init();
  constexpr unsigned char kGuard = 0x5C;
  std::array<unsigned char, 2048> buffer{};
  const auto written = [&] {
    const auto last = std::find_if(buffer.rbegin(), buffer.rend(), [&](unsigned char c) { return c != kGuard; });
    return buffer.rend() - last;
  };
  const auto call = [&](const char* function, unsigned version) {
    buffer.fill(kGuard);
    if (version != 0) std::memcpy(buffer.data(), &version, sizeof(version));
    EXPECT_EQ(Call(function, Gpu(0), static_cast<void*>(buffer.data())), kSuccess) << function;
    return written();
  };
  EXPECT_EQ(call("nvmlDeviceGetPciInfo", 0), 32);
  EXPECT_EQ(call("nvmlDeviceGetPciInfo_v2", 0), 36);
  EXPECT_EQ(call("nvmlDeviceGetPciInfo_v3", 0), 68);
  EXPECT_EQ(call("nvmlDeviceGetMemoryInfo", 0), 24);
  EXPECT_EQ(call("nvmlDeviceGetGpuFabricInfo", 0), 28);
  EXPECT_EQ(call("nvmlDeviceGetGpuFabricInfoV", VersionOf<FabricInfoV2>(2)), 36);
  EXPECT_EQ(call("nvmlDeviceGetGpuFabricInfoV", VersionOf<FabricInfoV3>(3)), 40);
  for (const auto& [function, size] :
       {std::pair{"nvmlDeviceGetComputeRunningProcesses", 16}, std::pair{"nvmlDeviceGetComputeRunningProcesses_v2", 24},
        std::pair{"nvmlDeviceGetComputeRunningProcesses_v3", 24}}) {
    buffer.fill(kGuard);
    unsigned count = 5;
    EXPECT_EQ(Call(function, Gpu(0), &count, static_cast<void*>(buffer.data())), kSuccess);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(written(), size) << function;
  }
}

TEST_F(LibraryTest, ProcessListsSayHowManyThereAre) {
  Update([](Machine& m) {
    for (unsigned pid = 1; pid <= 3; ++pid) {
      m.gpus[0].processes.push_back({.pid = pid, .memory = pid, .gpu_instance = {}, .compute_instance = {}});
    }
  });
  Init();
  unsigned count = 0;
  EXPECT_EQ(Call("nvmlDeviceGetComputeRunningProcesses_v3", Gpu(0), &count, static_cast<ProcessInfo*>(nullptr)),
            kInsufficientSize);
  EXPECT_EQ(count, 3U);
  ProcessInfo infos[3] = {};
  EXPECT_EQ(Call("nvmlDeviceGetComputeRunningProcesses_v3", Gpu(0), &count, &infos[0]), kSuccess);
  EXPECT_EQ(infos[2].pid, 3U);
  EXPECT_EQ(infos[2].gpuInstanceId, kNoInstance);
  EXPECT_EQ(Call("nvmlDeviceGetComputeRunningProcesses_v3", Gpu(1), &count, &infos[0]), kSuccess);
  EXPECT_EQ(count, 0U);
}

TEST_F(LibraryTest, ForeignPointersAreRefused) {
  Init();
  int mine = 0;
  for (void* pointer : {static_cast<void*>(nullptr), static_cast<void*>(&mine), reinterpret_cast<void*>(0x1000)}) {
    unsigned number = 0;
    EXPECT_EQ(Call("nvmlDeviceGetMinorNumber", pointer, &number), kInvalidArgument);
    EXPECT_EQ(Call("nvmlGpuInstanceDestroy", pointer), kInvalidArgument);
    EXPECT_EQ(Call("nvmlComputeInstanceDestroy", pointer), kInvalidArgument);
    EXPECT_EQ(Call("nvmlEventSetFree", pointer), kInvalidArgument);
  }
  EXPECT_EQ(Call("nvmlGpuInstanceDestroy", Gpu(0)), kInvalidArgument) << "a handle of another kind";
}

TEST_F(LibraryTest, UnsimulatedFunctionsSaySo) {
  unsigned speed = 77;
  EXPECT_EQ(Call("nvmlDeviceGetFanSpeed", static_cast<Device>(nullptr), &speed), kUninitialized);
  Init();
  EXPECT_EQ(Call("nvmlDeviceGetFanSpeed", Gpu(0), &speed), kNotSupported);
  EXPECT_EQ(speed, 77U);
}

TEST_F(LibraryTest, SettingsAreSharedAndValidated) {
  Init();
  EXPECT_EQ(Call("nvmlDeviceSetComputeMode", Gpu(0), 3U), kSuccess);
  EXPECT_EQ(Get("nvmlDeviceGetComputeMode", Gpu(0)), 3);
  EXPECT_EQ(store_->Read().value()->gpus[0].compute_mode, 3U) << "the test tool sees it";
  EXPECT_EQ(Call("nvmlDeviceSetComputeMode", Gpu(0), 1U), kNotSupported);
  EXPECT_EQ(Call("nvmlDeviceSetComputeMode", Gpu(0), 4U), kInvalidArgument);
  EXPECT_EQ(Call("nvmlDeviceSetPersistenceMode", Gpu(0), 0U), kSuccess);
  EXPECT_EQ(Get("nvmlDeviceGetPersistenceMode", Gpu(0)), 0);
}

TEST_F(LibraryTest, CallsFromManyThreads) {
  Init();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (unsigned n = 0; n < 200; ++n) {
        EXPECT_EQ(Get("nvmlDeviceGetMinorNumber", Gpu(n % 4)), n % 4);
        EXPECT_EQ(Call("nvmlInit_v2"), kSuccess);
        EXPECT_EQ(Call("nvmlShutdown"), kSuccess);
      }
    });
  }
  for (unsigned mode = 0; mode < 20; ++mode) {
    EXPECT_EQ(Call("nvmlDeviceSetPersistenceMode", Gpu(0), mode % 2), kSuccess);
  }
}

}  // namespace
}  // namespace tessera::sim
