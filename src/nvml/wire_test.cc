#include "nvml/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "base/fd.h"
#include "json/decode.h"

namespace tessera::nvml {
namespace {

using std::chrono::milliseconds;

class WireTest : public ::testing::Test {
 protected:
  WireTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_ = UniqueFd{ends[0]};
    theirs_ = UniqueFd{ends[1]};
  }
  UniqueFd ours_, theirs_;
};

TEST_F(WireTest, MessagesArriveWholeAndInOrder) {
  Receiver receiver(ours_.get());
  ASSERT_TRUE(SendMessage(theirs_.get(), "one").has_value());
  ASSERT_TRUE(SendMessage(theirs_.get(), "").has_value());
  ASSERT_TRUE(SendMessage(theirs_.get(), std::string(100'000, 'x')).has_value());
  EXPECT_EQ(receiver.Receive(milliseconds(1000)).value(), "one");
  EXPECT_EQ(receiver.Receive(milliseconds(1000)).value(), "");
  EXPECT_EQ(receiver.Receive(milliseconds(1000)).value()->size(), 100'000U);
}

TEST_F(WireTest, AHalfMessageWaitsForTheRest) {
  Receiver receiver(ours_.get());
  ASSERT_TRUE(WriteAll(theirs_.get(), std::string_view("\x05\0\0\0he", 6)).has_value());
  EXPECT_EQ(receiver.Receive(milliseconds(1)).value(), std::nullopt);
  ASSERT_TRUE(WriteAll(theirs_.get(), "llo").has_value());
  EXPECT_EQ(receiver.Receive(milliseconds(1000)).value(), "hello");
}

TEST_F(WireTest, AClosedOrGarbledSocketIsAnError) {
  {
    Receiver receiver(ours_.get());
    ASSERT_TRUE(WriteAll(theirs_.get(), "\xFF\xFF\xFF\xFFjunk").has_value());
    EXPECT_THAT(receiver.Receive(milliseconds(1000)).error().message(), testing::HasSubstr("too large"));
  }
  Receiver receiver(ours_.get());
  theirs_.Reset();
  EXPECT_THAT(receiver.Receive(milliseconds(1000)).error().message(), testing::HasSubstr("gone"));
}

TEST_F(WireTest, SaysHowMuchIsUnread) {
  EXPECT_EQ(Unread(theirs_.get()), 0U);
  ASSERT_TRUE(SendMessage(theirs_.get(), std::string(1'000, 'x')).has_value());
  EXPECT_GE(Unread(theirs_.get()), 1'000U);
  Receiver receiver(ours_.get());
  ASSERT_TRUE(receiver.Receive(milliseconds(1000)).value());
  EXPECT_EQ(Unread(theirs_.get()), 0U);
}

TEST(WireError, KeepsKindCodeAndAdvice) {
  const Error error(ErrorKind::kPermanentDevice, "DriverNotFound", "no driver", "install it");
  EXPECT_EQ(FromWire(ToWire(error)), error);
  EXPECT_EQ(FromWire({"permanent-config", "Nonsense", "m", ""}).code(), "NvmlHost");
  EXPECT_EQ(FromWire({"bogus", "DriverNotFound", "m", ""}).kind(), ErrorKind::kTransient);
}

TEST(ReadAnswer, FactsSurviveTheTrip) {
  MachineFacts facts;
  facts.driver_version = "580.1";
  facts.gpus.resize(1);
  facts.gpus[0].minor = 3;
  facts.gpus[0].links.push_back({1, true, 6U, 2U, "00000000:05:00.0"});
  facts.gpus[0].fabric = FabricFacts{3, 0, "a", 7, 1U};
  facts.gpus[0].mig_devices.push_back({2, "MIG-x", 7U, 0U, 19U, 3, 1, 1U, std::nullopt, {{"f", "r"}}});
  facts.gaps.push_back({"f", "r"});
  const json::Value value = json::Encode(ReadAnswer{facts, std::nullopt});
  EXPECT_EQ(json::Decode<ReadAnswer>(json::ParseJson(json::PrintJson(value)).value()).value().facts, facts);
}

TEST(WatchAnswer, WhatWasSeenSurvivesTheTrip) {
  GpuVitals gpu{.uuid = "GPU-x", .bus_id = "00000000:05:00.0", .lost = true, .silent = true};
  gpu.ecc_corrected = 1;
  gpu.ecc_uncorrected = 2;
  gpu.ecc_corrected_lifetime = 3;
  gpu.ecc_uncorrected_lifetime = 0xFFFF'FFFF'FFFF;
  gpu.remapped_corrected = 5;
  gpu.remapped_uncorrected = 6;
  gpu.remap_pending = true;
  gpu.remap_failed = false;
  gpu.retired_corrected = 7;
  gpu.retired_uncorrected = 8;
  gpu.retirement_pending = true;
  gpu.temperature = 90;
  gpu.slowdown_reasons = 0x48;
  gpu.pcie_generation = 3;
  gpu.pcie_width = 8;
  gpu.pcie_generation_max = 5;
  gpu.pcie_width_max = 16;
  gpu.busy = true;
  gpu.fabric = FabricFacts{3, 0, "a", 7, 1U};
  gpu.recovery_action = 4;
  gpu.links = {{.link = 2, .active = true, .replay_errors = 1, .recovery_errors = 2, .crc_errors = 3}};
  gpu.gaps = {{"f", "r"}};
  const Observation seen{
      .vitals = MachineVitals{"580.1", {gpu}, {{"g", "s"}}},
      .events = {{.type = 8, .data = 79, .uuid = "GPU-x", .gpu_instance = 1, .compute_instance = 0, .count = 9}},
      .dropped = 4};
  const json::Value value = json::Encode(WatchAnswer{seen, std::nullopt});
  EXPECT_EQ(json::Decode<WatchAnswer>(json::ParseJson(json::PrintJson(value)).value()).value().seen, seen);
}

TEST(HostRequest, SurvivesTheTrip) {
  const HostRequest request{{"/"}, {{"*", 3U, "why"}}, 5'000U};
  const auto back = ParseRequest(json::PrintJson(json::Encode(request)));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->driver_roots, request.driver_roots);
  EXPECT_EQ(back->avoid, request.avoid);
  EXPECT_EQ(back->watch_period_ms, request.watch_period_ms);
}

}  // namespace
}  // namespace tessera::nvml
