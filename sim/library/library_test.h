// sim/library/library_test.h: a machine of H200s below a temporary driver root, and its library behind the C ABI.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "nvml/abi.h"
#include "sim/store.h"
#include "sim/tree.h"
#include "tests/support/paths.h"

namespace tessera::sim {

namespace abi = nvml::abi;
using abi::Device;
using abi::Return;

// The board of nvml-abi.md, sections 6.2 and 12.2.
inline Model H200() {
  Model model;
  model.name = "NVIDIA H200";
  model.brand = 14;
  model.architecture = abi::kArchHopper;
  model.cc_major = 9;
  model.pci_device_id = 0x233510DE;
  model.pci_subsystem_id = 0x18BF10DE;
  model.memory_bytes = 150754820096;
  model.reserved_bytes = 644939776;
  model.bar1_bytes = 274877906944;
  model.cores = 16896;
  model.memory_bus_width = 6016;
  model.multiprocessors = 132;
  model.pcie_generation = 5;
  model.ecc = model.row_remapping = model.gsp = model.fabric = model.resetless_mig = true;
  model.remap_banks = 3072;
  model.power_default_mw = model.power_max_mw = 700000;
  model.power_min_mw = 200000;
  model.power_idle_mw = 125000;
  model.temp_shutdown = model.temp_memory_max = 95;
  model.temp_slowdown = 89;
  model.temp_gpu_max = 87;
  model.vbios = "96.00.A5.00.1A";
  model.part_number = "692-2G520-0282-000";
  model.events = abi::kEventAll;
  model.addressing_mode = 0;
  model.nvlink = NvLinkModel{.links = 18, .version = 6, .speed_mbps = 26562};
  model.mig = {
      {0, 19, 1, 7, 16, 1, 1, 0, 1, 0, 16384, {0, 1, 2, 3, 4, 5, 6}, 1},
      {7, 20, 1, 1, 16, 1, 1, 0, 1, 1, 16384, {0, 1, 2, 3, 4, 5, 6}, 1},
      {9, 15, 1, 4, 26, 1, 1, 0, 1, 0, 33280, {0, 2, 4, 6}, 2},
      {1, 14, 2, 3, 32, 2, 2, 0, 2, 0, 33280, {0, 2, 4}, 2},
      {2, 9, 3, 2, 60, 3, 3, 0, 3, 0, 71424, {0, 4}, 4},
      {3, 5, 4, 1, 64, 4, 4, 0, 4, 0, 71424, {0}, 4},
      {4, 0, 7, 1, 132, 8, 7, 0, 7, 1, 143360, {0}, 8},
  };
  return model;
}

// GPUs 0 and 1 share a PCIe switch, 2 is on the other socket, 3 is a T4 there. NVLink is off, as on the observed board.
inline Machine TestMachine() {
  Machine machine;
  machine.profile = "test";
  machine.driver_version = machine.kernel_version = "580.159.04";
  machine.nvml_header = "13.0";
  machine.majors = PickMajors();
  machine.numa = {{.id = 0, .cpus = "0-3"}, {.id = 1, .cpus = "4-7,64"}};
  machine.models["h200"] = H200();
  Model& t4 = machine.models["t4"];
  t4.name = "Tesla T4";
  t4.architecture = abi::kArchTuring;
  t4.cc_major = 7;
  t4.cc_minor = 5;
  t4.pci_device_id = 0x1EB810DE;
  t4.memory_bytes = 16106127360;
  t4.pcie_generation = 3;
  t4.ecc = t4.page_retirement = true;
  t4.events = 0x1F;
  for (unsigned i = 0; i < 4; ++i) {
    Gpu& gpu = machine.gpus.emplace_back();
    gpu.model = i == 3 ? "t4" : "h200";
    gpu.minor = i;
    gpu.uuid = Format("GPU-{:08x}-1111-2222-3333-444444444444", i + 1);
    gpu.serial = Format("165302100000{}", i);
    gpu.module_id = i + 1;
    gpu.numa_node = i < 2 ? 0 : 1;
    gpu.pcie_root = i < 2 ? "pci0000:00" : "pci0000:80";
    gpu.bus_id = i < 2 ? Format("0000:0{}:00.0", 7 + i) : Format("0000:8{}:00.0", i);
    gpu.bridges = i < 2 ? std::vector<std::string>{"0000:00:01.0", "0000:05:00.0", Format("0000:06:0{}.0", i)}
                        : std::vector<std::string>{Format("0000:80:0{}.0", i)};
  }
  return machine;
}

class LibraryTest : public testing::Test {
 protected:
  explicit LibraryTest(const Machine& machine = TestMachine())
      : dir_(TempDir::Create("sim-library-test").value()), store_(Store::Create(root(), machine).value()) {
    const auto dir = root() / "usr/lib";
    std::filesystem::create_directories(dir);
    std::filesystem::copy_file(TESSERA_BINARY_DIR "/lib/tessera/sim/libnvidia-ml.so.1", dir / "libnvidia-ml.so.1");
    library_ = ::dlopen((dir / "libnvidia-ml.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  ~LibraryTest() override { ::dlclose(library_); }

  void SetUp() override { ASSERT_NE(library_, nullptr) << ::dlerror(); }

  std::filesystem::path root() const { return dir_.path() / "root"; }

  // Calls a function by name. The argument types are the signature: write 0U where NVML has unsigned.
  template <class... Args>
  Return Call(const char* function, Args... args) const {
    auto* symbol = reinterpret_cast<Return (*)(Args...)>(::dlsym(library_, function));
    if (symbol == nullptr) ADD_FAILURE() << function << " is not exported";
    return symbol == nullptr ? abi::kFunctionNotFound : symbol(args...);
  }

  void Init() const { ASSERT_EQ(Call("nvmlInit_v2"), abi::kSuccess); }

  Device Gpu(unsigned index) const {
    Device device = nullptr;
    EXPECT_EQ(Call("nvmlDeviceGetHandleByIndex_v2", index, &device), abi::kSuccess);
    return device;
  }

  template <class Target, class... Args>
  std::string Text(const char* function, Target target, Args... args) const {
    char buffer[96] = {};
    const Return code = Call(function, target, args..., &buffer[0], unsigned{sizeof(buffer)});
    return code == abi::kSuccess ? buffer : Format("code {}", code);
  }

  // The answer of a function with one number as output; the code as a negative number when it fails.
  template <class Number = unsigned, class... Args>
  long long Get(const char* function, Args... args) const {
    Number number{};
    const Return code = Call(function, args..., &number);
    return code == abi::kSuccess ? static_cast<long long>(number) : -code;
  }

  // Changes the machine as tessera-sim would.
  template <class Change>
  void Update(const Change& change) const {
    const auto done = store_->Update([&](Machine& machine) -> Result<void> {
      change(machine);
      return {};
    });
    ASSERT_TRUE(done.has_value()) << done.error().Text();
  }

  const TempDir dir_;
  const std::unique_ptr<Store> store_;
  void* library_ = nullptr;
};

}  // namespace tessera::sim
