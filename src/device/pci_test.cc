#include "device/pci.h"

#include <gtest/gtest.h>

#include <array>

#include "base/fd.h"

namespace tessera::device {
namespace {

namespace fs = std::filesystem;

TEST(BusId, FromNvmlToLinux) {
  struct Case {
    std::string_view nvml, linux_form;
    bool standard;
  };
  constexpr std::array kCases{
      Case{"00000000:3B:00.0", "0000:3b:00.0", true},
      Case{"00000008:01:00.0", "0008:01:00.0", true},
      Case{"0000FFFF:01:00.0", "ffff:01:00.0", true},
      Case{"00010000:01:00.0", "10000:01:00.0", false},  // Behind an Intel VMD.
      Case{"0000:3B:00.0", "0000:3b:00.0", true},
      Case{"", "", false},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(LinuxBusId(c.nvml), c.linux_form);
    EXPECT_EQ(IsStandardBusId(LinuxBusId(c.nvml)), c.standard) << c.nvml;
  }
  EXPECT_FALSE(IsStandardBusId("0000:3B:00.0"));
}

class PciPlaceTest : public ::testing::Test {
 protected:
  void Add(const std::string& bus_id, const fs::path& target, std::string_view numa) {
    const fs::path devices = sysfs_.path() / "bus/pci/devices";
    fs::create_directories(devices);
    fs::create_directory_symlink(fs::path("../../..") / target, devices / bus_id);
    fs::create_directories(sysfs_.path() / target);
    ASSERT_TRUE(ReplaceFile(sysfs_.path() / target / "numa_node", numa).has_value());
  }
  TempDir sysfs_ = TempDir::Create("pci-test").value();
};

TEST_F(PciPlaceTest, FindsRootAndNumaNode) {
  Add("0000:3b:00.0", "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "1\n");
  EXPECT_EQ(ReadPciPlace(sysfs_.path(), "0000:3b:00.0"), (PciPlace{"pci0000:3a", 1}));
}

TEST_F(PciPlaceTest, LeavesOutWhatIsNotKnown) {
  Add("0000:00:06.0", "devices/pci0000:00/0000:00:06.0", "-1\n");
  EXPECT_EQ(ReadPciPlace(sysfs_.path(), "0000:00:06.0"), (PciPlace{"pci0000:00", std::nullopt}));
  Add("0001:00:06.0", "devices/platform/soc/0001:00:06.0", "many\n");
  EXPECT_EQ(ReadPciPlace(sysfs_.path(), "0001:00:06.0"), PciPlace{});
  EXPECT_EQ(ReadPciPlace(sysfs_.path(), "0000:99:00.0"), PciPlace{});
  EXPECT_EQ(ReadPciPlace(sysfs_.path(), "../../secret"), PciPlace{});
  EXPECT_EQ(ReadPciPlace(sysfs_.path() / "absent", "0000:00:06.0"), PciPlace{});
}

}  // namespace
}  // namespace tessera::device
