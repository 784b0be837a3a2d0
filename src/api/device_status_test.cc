#include "api/device_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const DeviceStatus kShare{.driver = "gpu.nvidia.com",
                          .pool = "node-a",
                          .device = "gpu-0",
                          .share_id = "2d1c",
                          .conditions = {{"Ready", "True", "Prepared", "", "2026-11-15T10:00:00Z"}},
                          .data = json::Object{{"uuid", "GPU-1"}}};

TEST(DeviceStatus, ReadsWhatItWrites) {
  EXPECT_THAT(DecodeDeviceStatus(ToJson({kShare}), "gpu.nvidia.com"), ElementsAre(kShare));
}

TEST(DeviceStatus, WithoutAShareOrDataHasNoSuchFields) {
  DeviceStatus whole = kShare;
  whole.share_id.reset();
  whole.data = nullptr;
  const json::Value written = ToJson({whole});
  EXPECT_FALSE(written.at(0).as_object().contains("shareID"));
  EXPECT_FALSE(written.at(0).as_object().contains("data"));
  EXPECT_FALSE(SameDevice(whole, kShare));
}

TEST(DeviceStatus, EntriesOfOthersAndOnesThatCannotBeReadAreLeftOut) {
  const json::Value devices = json::ParseJson(R"([
    {"driver": "net.example.com", "pool": "p", "device": "d", "networkData": {"interfaceName": "eth1"}},
    {"driver": "gpu.nvidia.com", "pool": "node-a"},
    {"driver": "gpu.nvidia.com", "pool": "node-a", "device": "gpu-1"}])")
                                  .value();
  const auto ours = DecodeDeviceStatus(devices, "gpu.nvidia.com");
  ASSERT_EQ(ours.size(), 1U);
  EXPECT_EQ(ours[0].device, "gpu-1");
  EXPECT_THAT(DecodeDeviceStatus(nullptr, "gpu.nvidia.com"), IsEmpty());
}

}  // namespace
}  // namespace tessera::api
