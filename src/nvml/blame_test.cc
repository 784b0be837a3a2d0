#include "nvml/blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::nvml {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kName = static_cast<std::uint32_t>(Fn::nvmlDeviceGetName);
constexpr auto kBrand = static_cast<std::uint32_t>(Fn::nvmlDeviceGetBrand);
constexpr auto kUuid = static_cast<std::uint32_t>(Fn::nvmlDeviceGetUUID);
constexpr auto kInit = static_cast<std::uint32_t>(Fn::nvmlInitWithFlags);

class BlameTest : public ::testing::Test {
 protected:
  void Lose(std::uint32_t function, std::uint32_t gpu, bool whole = false) {
    EXPECT_TRUE(blame_.Add(function, gpu, "crashed", now_, whole).has_value());
  }
  // "nvmlDeviceGetName@1"
  std::vector<std::string> Avoided() const {
    std::vector<std::string> texts;
    for (const Avoid& avoid : blame_.Avoids()) {
      texts.push_back(avoid.function + (avoid.gpu ? "@" + std::to_string(*avoid.gpu) : ""));
    }
    return texts;
  }
  Blame::Time now_{};
  Blame blame_{minutes(10)};
};

TEST_F(BlameTest, OneLossCostsOneCallOnOneGpu) {
  Lose(kName, 1);
  EXPECT_THAT(Avoided(), ElementsAre("nvmlDeviceGetName@1"));
}

TEST_F(BlameTest, ASecondGpuCostsTheCallOnAll) {
  Lose(kName, 1);
  Lose(kName, 2);
  EXPECT_THAT(Avoided(), ElementsAre("nvmlDeviceGetName"));
}

TEST_F(BlameTest, ASecondCallCostsTheGpu) {
  Lose(kName, 1);
  Lose(kBrand, 1);
  EXPECT_THAT(Avoided(), ElementsAre("nvmlDeviceGetName@1", "*@1"));
  EXPECT_THAT(blame_.Avoids()[1].reason, HasSubstr("nvmlDeviceGetBrand: the NVML host crashed"));
}

TEST_F(BlameTest, AGpuIsLeftAloneAtOnceWhenAskedForOrWithoutIdentity) {
  Lose(kName, 1, true);
  Lose(kUuid, 2);
  EXPECT_THAT(Avoided(), ElementsAre("*@1", "*@2"));
}

TEST_F(BlameTest, WhatNobodyCanDoWithoutIsAnError) {
  EXPECT_FALSE(blame_.Add(kInit, Progress::kNoGpu, "crashed", now_).has_value());
  EXPECT_FALSE(blame_.Add(Progress::kNoCall, Progress::kNoGpu, "crashed", now_).has_value());
  EXPECT_TRUE(blame_.empty());
}

TEST_F(BlameTest, IsForgottenAfterAWhile) {
  Lose(kName, 1);
  now_ += minutes(6);
  Lose(kBrand, 2);
  EXPECT_FALSE(blame_.Expire(now_));
  now_ += minutes(5);
  EXPECT_TRUE(blame_.Expire(now_));
  EXPECT_THAT(Avoided(), ElementsAre("nvmlDeviceGetBrand@2"));
}

}  // namespace
}  // namespace tessera::nvml
