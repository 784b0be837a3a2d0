#include "device/mig_profile.h"

#include <gtest/gtest.h>

#include <array>

namespace tessera::device {
namespace {

TEST(MigProfile, NamesAsNvidiaSmiDoes) {
  constexpr std::uint64_t kA100_40 = 42949672960;
  constexpr std::uint64_t kA100_80 = 85899345920;
  constexpr std::uint64_t kH200 = 150754820096;
  struct Case {
    std::string_view name;
    unsigned number, slices, compute;
    std::uint64_t memory_mb, total;
  };
  constexpr std::array kCases{
      Case{"1g.5gb", 0, 1, 1, 4864, kA100_40},
      Case{"1g.5gb+me", 7, 1, 1, 4864, kA100_40},
      Case{"7g.40gb", 4, 7, 7, 40192, kA100_40},
      Case{"3g.40gb", 2, 3, 3, 40192, kA100_80},
      Case{"1g.10gb", 0, 1, 1, 9856, kA100_80},
      Case{"1g.18gb", 0, 1, 1, 16384, kH200},
      Case{"1g.35gb", 9, 1, 1, 33280, kH200},
      Case{"3g.71gb", 2, 3, 3, 71424, kH200},
      Case{"7g.141gb", 4, 7, 7, 143360, kH200},
      Case{"1c.3g.71gb", 2, 3, 1, 71424, kH200},
      Case{"1g.18gb+gfx", 10, 1, 1, 16384, kH200},
      Case{"1g.18gb-me", 13, 1, 1, 16384, kH200},
      Case{"1g.18gb+me.all", 15, 1, 1, 16384, kH200},
      Case{"2g.35gb", 99, 2, 2, 33280, kH200},
      Case{"1g.16gb", 0, 1, 1, 16384, 0},  // The GPU's memory is not known.
  };
  for (const Case& c : kCases) {
    nvml::MigProfileFacts profile;
    profile.number = c.number;
    profile.slices = c.slices;
    profile.memory_mb = c.memory_mb;
    EXPECT_EQ(MigProfileName(profile, c.compute, c.total), c.name);
  }
}

TEST(MigProfile, LabelsAreDnsLabels) {
  EXPECT_EQ(MigProfileLabel("1g.24gb"), "1g24gb");
  EXPECT_EQ(MigProfileLabel("1g.10gb+me"), "1g10gb-me");
  EXPECT_EQ(MigProfileLabel("1g.24gb+me.all"), "1g24gb-meall");
}

}  // namespace
}  // namespace tessera::device
