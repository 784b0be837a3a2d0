// sim/tree_test.h: a small machine and a root to write it to, for the tests of tree.h.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "sim/tree.h"
#include "sim/tree_parts.h"
#include "tests/support/paths.h"

namespace tessera::sim {

namespace fs = std::filesystem;

inline Gpu MakeGpu(unsigned minor, std::string bus_id, std::string root, std::vector<std::string> bridges) {
  Gpu gpu;
  gpu.model = "a100";
  gpu.minor = minor;
  gpu.uuid = Format("GPU-00000000-0000-0000-0000-00000000000{}", minor);
  gpu.bus_id = std::move(bus_id);
  gpu.pcie_root = std::move(root);
  gpu.bridges = std::move(bridges);
  gpu.numa_node = static_cast<int>(minor);
  return gpu;
}

inline Machine TwoGpus() {
  Machine machine;
  machine.driver_version = machine.kernel_version = "580.159.04";
  machine.nvml_header = "13.3";
  machine.majors = {.nvidia = 195, .uvm = 511, .nvswitch = 510, .nvlink = 509, .caps = 508, .imex = 507};
  Model& model = machine.models["a100"];
  model.name = "NVIDIA A100-SXM4-40GB";
  model.pci_device_id = 0x20B010DE;
  model.pci_subsystem_id = 0x134F10DE;
  model.pcie_generation = 4;
  model.bar1_bytes = std::uint64_t{64} << 30U;
  model.vbios = "92.00.45.00.03";
  model.gsp = true;
  machine.numa = {{0, "0-31,64-95"}, {1, "32-63,96-127"}};
  machine.gpus = {MakeGpu(0, "0000:07:00.0", "pci0000:00", {"0000:00:01.1", "0000:01:00.0"}),
                  MakeGpu(1, "0000:47:00.0", "pci0000:40", {})};
  return machine;
}

class TreeTest : public ::testing::Test {
 protected:
  std::string Read(std::string_view path) {
    const auto content = ReadFile(root_ / path);
    EXPECT_TRUE(content.has_value()) << content.error().Text();
    return content.value_or("");
  }
  bool Exists(std::string_view path) { return fs::exists(fs::symlink_status(root_ / path)); }
  struct stat Stat(std::string_view path) {
    struct stat status{};
    EXPECT_EQ(::lstat((root_ / path).c_str(), &status), 0) << path;
    return status;
  }
  void Sync(const Machine& machine) {
    const auto done = SyncTree(root_, machine);
    ASSERT_TRUE(done.has_value()) << done.error().Text();
  }
  // Everything below the root, with what would change if it were touched.
  std::map<std::string, std::pair<ino_t, std::int64_t>> Snapshot() {
    std::map<std::string, std::pair<ino_t, std::int64_t>> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      struct stat status{};
      EXPECT_EQ(::lstat(entry.path().c_str(), &status), 0);
      found[entry.path()] = {status.st_ino, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
    }
    return found;
  }
  TreeOptions Options(std::string_view sample = "gnu") const {
    const fs::path tests = fs::path(TESSERA_BINARY_DIR) / "tests";
    return {.library = tests / ("libelf_sample_" + std::string(sample) + ".so"), .nvidia_smi = "/bin/true"};
  }

  const TempDir dir_ = TempDir::Create("tree-test").value();
  const fs::path root_ = dir_.path();
};

}  // namespace tessera::sim
