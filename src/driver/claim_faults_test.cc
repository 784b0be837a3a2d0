#include "driver/claim_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/test_parts.h"

namespace tessera::driver {
namespace {

const Error kBusy{ErrorKind::kTransient, "DeviceInUse", "gpu-1 is taken", "wait"};
const Error kConfig{ErrorKind::kPermanentConfig, "BadDeviceConfig", "interval: \"Fast\" is none", "correct it"};

TEST(ClaimFaults, OneKeepsItsAdvice) {
  ClaimFaults faults;
  faults.Add(kBusy);
  EXPECT_EQ(faults.AsError(), kBusy);
}

TEST(ClaimFaults, OneOfSeveralDevicesIsSaidOnceWithAllOfThem) {
  ClaimFaults faults;
  faults.Add(Gets("gpu-0"), kConfig);
  faults.Add(Gets("gpu-1", "more"), kConfig);
  EXPECT_EQ(faults.AsError().Text(),
            "request gpus (gpu-0), request more (gpu-1): interval: \"Fast\" is none; correct it");
}

TEST(ClaimFaults, TheFirstThatLastsGivesCodeAndKind) {
  ClaimFaults faults;
  faults.Add(kBusy);
  faults.Add(Gets("gpu-0"), kConfig);
  EXPECT_EQ(faults.AsError().code(), "BadDeviceConfig");
  EXPECT_EQ(faults.AsError().kind(), ErrorKind::kPermanentConfig);
  EXPECT_EQ(faults.AsError().Text(),
            "gpu-1 is taken; wait; request gpus (gpu-0): interval: \"Fast\" is none; correct it");
}

TEST(NameEachOther, LeavesASingleFaultAlone) {
  kubelet::Answers answers{{"uid-a", {}, kBusy}, {"uid-b", {}, std::nullopt}};
  NameEachOther({{"ml", "a", "uid-a"}, {"ml", "b", "uid-b"}}, answers);
  EXPECT_EQ(answers[0].error, kBusy);
  EXPECT_FALSE(answers[1].error.has_value());
}

TEST(NameEachOther, GivesEachTheOthersAfterItsOwn) {
  kubelet::Answers answers{{"uid-a", {}, kBusy}, {"uid-b", {}, kConfig}};
  NameEachOther({{"ml", "a", "uid-a"}, {"ml", "b", "uid-b"}}, answers);
  EXPECT_EQ(answers[0].error->Text(),
            "gpu-1 is taken; wait; claim ml/b failed as well: interval: \"Fast\" is none; correct it");
  EXPECT_EQ(answers[1].error->code(), "BadDeviceConfig");
  EXPECT_THAT(answers[1].error->Text(), testing::EndsWith("claim ml/a failed as well: gpu-1 is taken; wait"));
}

}  // namespace
}  // namespace tessera::driver
