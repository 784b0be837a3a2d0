#include "journal/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>

#include "base/fd.h"
#include "base/text.h"
#include "journal/go_json.h"
#include "journal/go_names.h"
#include "tests/support/paths.h"

namespace tessera::journal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kBoot = "4d444444-4444-4444-8444-444444444444";

std::string Uid(int n) { return Format("1a111111-1111-4111-8111-11111111111{}", n); }
std::string Gpu(int n) { return Format("GPU-00000000-aaaa-4aaa-8aaa-00000000000{}", n); }

std::string PathOf(const std::string& name) {
  return Format("{}/tests/testdata/checkpoints/{}.json", TESSERA_SOURCE_DIR, name);
}
std::string Text(const std::string& name) { return ReadFile(PathOf(name)).value(); }
void ExpectGolden(const std::string& actual, const std::string& name) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(ReplaceFile(PathOf(name), actual).has_value());
  }
  EXPECT_EQ(actual, Text(name)) << "UPDATE_GOLDEN=1 rewrites " << name;
}
Checkpoint Read(const std::string& name) { return ReadCheckpoint(Text(name)).value(); }

TEST(ReadCheckpoint, BelievesNoChecksumButKnowsTheRecipe) {
  for (const std::string name : {"v25.3.2", "v25.8.1", "v25.12.0", "head", "empty", "unserved"}) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(Read(name).checksum_matches);
    std::string edited = Text(name);
    edited.insert(edited.find(':') + 1, "1");
    const auto read = ReadCheckpoint(edited);
    ASSERT_TRUE(read.has_value());
    EXPECT_FALSE(read->checksum_matches);
    EXPECT_EQ(read->claims, Read(name).claims);
  }
}

TEST(ReadCheckpoint, OfTheFirstVersionHasOnlyCompletedClaims) {
  const Checkpoint checkpoint = Read("v25.3.2");
  EXPECT_EQ(checkpoint.boot_id, "");
  ASSERT_EQ(checkpoint.claims.size(), 1U);
  const api::PreparedClaim& claim = checkpoint.claims[0];
  EXPECT_EQ(claim.claim, (api::ClaimRef{"", "", Uid(0)}));
  EXPECT_EQ(claim.state, api::ClaimState::kCompleted);
  EXPECT_EQ(claim.origin, "go");
  EXPECT_THAT(claim.pods, ElementsAre("trainer-0"));
  api::PreparedDevice device;
  device.requests = {"gpu"};
  device.pool = "node-1";
  device.name = "gpu-0";
  device.hardware = {Gpu(0), "", 0, std::nullopt};
  device.cdi_ids = {"k8s.gpu.nvidia.com/device=gpu-0", "k8s.gpu.nvidia.com/claim=" + Uid(0) + "-gpu-0"};
  EXPECT_THAT(claim.devices, ElementsAre(device));
  EXPECT_TRUE(claim.allocation.is_object());
  EXPECT_TRUE(claim.adopted.is_object());
}

TEST(ReadCheckpoint, OldMigRecordsHaveTheirPlacementFromTheName) {
  const Checkpoint checkpoint = Read("v25.8.1");
  ASSERT_EQ(checkpoint.claims.size(), 3U);
  const api::Hardware& hardware = checkpoint.claims[1].devices.at(0).hardware;
  EXPECT_EQ(hardware.gpu_uuid, "") << "that version did not write it down";
  EXPECT_EQ(hardware.gpu_minor, 1U);
  EXPECT_EQ(hardware.mig, (api::MigHardware{"MIG-00000000-bbbb-4bbb-8bbb-000000000000", 0, 0, "", 4, 1}));
}

TEST(ReadCheckpoint, NewMigRecordsAreComplete) {
  const api::Hardware expected{Gpu(1), "", 1,
                               api::MigHardware{"MIG-00000000-bbbb-4bbb-8bbb-000000000001", 7, 0, "1g.24gb", 0, 0}};
  EXPECT_EQ(Read("v25.12.0").claims.at(1).devices.at(0).hardware, expected);
  api::Hardware with_bus = expected;
  with_bus.bus_id = "0000:3b:00.0";
  EXPECT_EQ(Read("head").claims.at(1).devices.at(0).hardware, with_bus);
}

TEST(ReadCheckpoint, BegunClaimsKnowTheirNamesAndWhatWasAllocated) {
  for (const std::string name : {"v25.12.0", "head"}) {
    SCOPED_TRACE(name);
    const Checkpoint checkpoint = Read(name);
    const api::PreparedClaim& claim = checkpoint.claims.at(2);
    EXPECT_EQ(claim.claim, (api::ClaimRef{"team-a", "half-done", Uid(2)}));
    EXPECT_EQ(claim.state, api::ClaimState::kStarted);
    EXPECT_THAT(claim.pods, ElementsAre("team-a/trainer-0"));
    ASSERT_EQ(claim.devices.size(), 1U);
    EXPECT_EQ(claim.devices[0].name, "gpu-2-mig-1g12gb-me-20-3");
    EXPECT_THAT(claim.devices[0].requests, ElementsAre("main"));
    EXPECT_EQ(claim.devices[0].hardware.mig->profile, "1g.12gb+me");
    EXPECT_EQ(claim.devices[0].hardware.mig->placement_start, 3U);
  }
}

TEST(ReadCheckpoint, AdminAccessAndSharesComeFromTheAllocation) {
  const Checkpoint checkpoint = Read("head");
  EXPECT_EQ(checkpoint.boot_id, kBoot);
  EXPECT_TRUE(checkpoint.claims.at(0).devices.at(0).admin_access);
  const api::PreparedClaim& shared = checkpoint.claims.at(3);
  EXPECT_FALSE(shared.devices.at(0).admin_access);
  EXPECT_EQ(shared.devices.at(0).share_id, "3c333333-3333-4333-8333-333333333333");
  EXPECT_THAT(shared.devices.at(0).requests, ElementsAre("main"));
  EXPECT_EQ(shared.boot_id, kBoot);
}

TEST(ReadCheckpoint, NamesWhatItCannotUndo) {
  const Checkpoint checkpoint = Read("unserved");
  std::vector<std::string> found;
  for (const auto& unserved : checkpoint.unserved) found.push_back(unserved.claim.uid + ": " + unserved.what);
  EXPECT_THAT(found, ElementsAre(Uid(0) + ": MPS control daemon \"" + Uid(0) + "-a1b2c\"",
                                 Uid(1) + ": time-slicing with interval \"Long\"",
                                 Uid(2) + ": VFIO device \"gpu-vfio-0\"", Uid(3) + ": MPS"));
  EXPECT_EQ(checkpoint.unserved[3].claim.name, "half-mps");
  ASSERT_EQ(checkpoint.claims.size(), 1U) << "the others are served";
  EXPECT_EQ(checkpoint.claims[0].claim.uid, Uid(4));
}

TEST(ReadCheckpoint, KnowsTheReleaseByWhatItWrote) {
  EXPECT_EQ(Read("v25.3.2").release, GoRelease::kV25_3);
  EXPECT_EQ(Read("v25.8.1").release, GoRelease::kV25_8);
  EXPECT_EQ(Read("v25.12.0").release, GoRelease::kV25_12);
  EXPECT_EQ(Read("head").release, GoRelease::kHead);
  const std::string of_v0_4 = WriteCheckpoint(Read("head").claims, std::string(kBoot), GoRelease::kV0_4);
  EXPECT_EQ(ReadCheckpoint(of_v0_4).value().release, GoRelease::kV0_4);
  EXPECT_EQ(ReadCheckpoint(R"({"checksum":0,"v1":{},"v2":{"checksum":0}})").value().release, GoRelease::kV25_12);
}

TEST(ReadCheckpoint, ReadsOrExplainsStrangeFiles) {
  struct Case {
    std::string_view name, text;
    bool is_read;
    std::size_t unserved = 0;
  };
  constexpr std::array kCases{
      Case{"nothing", "", false},
      Case{"cut", R"({"checksum":1,"v1":{"prepared)", false},
      Case{"a list", "[]", false},
      Case{"no version", R"({"checksum":1})", true},
      Case{"null versions", R"({"v1":null,"v2":null})", true},
      Case{"claims of a wrong type", R"({"v2":{"preparedClaims":[1]}})", true},
      Case{"a record of a wrong type", R"({"v2":{"preparedClaims":{"u1":7}}})", true, 1},
      Case{"a UID that is a path", R"({"v2":{"preparedClaims":{"../x":{}}}})", true, 1},
      Case{"a device without identity",
           R"({"v2":{"preparedClaims":{"u1":{"preparedDevices":[{"devices":[{"gpu":{}}]}]}}}})", true, 1},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto read = ReadCheckpoint(c.text);
    ASSERT_EQ(read.has_value(), c.is_read);
    if (!c.is_read) {
      EXPECT_EQ(read.error().code(), "CheckpointUnreadable");
      EXPECT_FALSE(read.error().advice().empty());
      continue;
    }
    EXPECT_THAT(read->claims, IsEmpty());
    EXPECT_EQ(read->unserved.size(), c.unserved);
  }
}

TEST(ReadCheckpoint, RandomDamageIsReadOrRefused) {
  const std::string whole = Text("head");
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    std::string text = whole;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = "{}[]\",:0a"[random() % 9];
    if (seed % 5 == 0) text.resize(random() % text.size());
    if (const auto read = ReadCheckpoint(text); read.has_value()) {
      WriteCheckpoint(read->claims, read->boot_id, read->release);
    }
  }
}

// The files below checkpoints/written were each given to the Go driver's own types (HEAD, August 2026): it accepts
// their checksums, and writes them again byte for byte.
TEST(WriteCheckpoint, OlderRecordsGoBackAsHeadTakesThem) {
  for (const std::string name : {"v25.3.2", "v25.8.1", "v25.12.0"}) {
    SCOPED_TRACE(name);
    ExpectGolden(WriteCheckpoint(Read(name).claims, std::string(kBoot), GoRelease::kHead), "written/from-" + name);
  }
}

TEST(WriteCheckpoint, WhatAReleaseWroteGoesBackToItByteForByte) {
  for (const std::string name : {"v25.3.2", "v25.8.1", "v25.12.0", "head", "empty"}) {
    SCOPED_TRACE(name);
    const Checkpoint checkpoint = Read(name);
    EXPECT_EQ(WriteCheckpoint(checkpoint.claims, std::string(kBoot), checkpoint.release), Text(name));
  }
}

std::vector<api::PreparedClaim> OwnClaims() {
  api::PreparedClaim gpu;
  gpu.claim = {"team-a", "training", Uid(5)};
  gpu.state = api::ClaimState::kCompleted;
  gpu.allocation = json::ParseJson(R"({"devices":{"config":[],"results":[{"pool":"node-1","device":"gpu-0",
      "driver":"gpu.nvidia.com","request":"gpu","consumedCapacity":{"z":"1024Mi","a":"0.5"},"future":1}]},
      "allocationTimestamp":"2026-08-01T10:00:00Z"})")
                       .value();
  api::PreparedDevice device;
  device.requests = {"gpu"};
  device.pool = "node-1";
  device.name = "gpu-0";
  device.share_id = "share-1";
  device.hardware = {Gpu(0), "0000:3b:00.0", 0, std::nullopt};
  device.cdi_ids = {"k8s.gpu.nvidia.com/claim=a<b>&c", "k8s.gpu.nvidia.com/base=all"};
  gpu.devices = {device};

  api::PreparedClaim mig = gpu;
  mig.claim = {"team-b", "inference", Uid(4)};
  mig.devices[0].share_id.reset();
  mig.devices[0].hardware.mig = api::MigHardware{"MIG-1", 3, 0, "1g.24gb", 2, 1};

  api::PreparedClaim begun = gpu;
  begun.claim = {"team-c", "half", Uid(6)};
  begun.state = api::ClaimState::kStarted;

  api::PreparedClaim rebuilt = gpu;  // From CDI files: nobody has its allocation.
  rebuilt.claim = {"", "", Uid(7)};
  rebuilt.allocation = nullptr;
  rebuilt.origin = "rebuilt";
  return {gpu, mig, begun, rebuilt};
}

TEST(WriteCheckpoint, OurClaimsBecomeTheirs) {
  const std::string written = WriteCheckpoint(OwnClaims(), std::string(kBoot), GoRelease::kHead);
  ExpectGolden(written, "written/own");
  const Checkpoint again = ReadCheckpoint(written).value();
  EXPECT_TRUE(again.checksum_matches);
  EXPECT_EQ(again.claims.size(), 4U);
  EXPECT_EQ(again.claims[0].claim, (api::ClaimRef{"team-b", "inference", Uid(4)}));
}

TEST(WriteCheckpoint, OurClaimsHaveTheFormOfTheReleaseThatWasHere) {
  struct Case {
    GoRelease release;
    bool has_v2, has_boot, spells_out_mps, has_tuple, has_bus;
  };
  constexpr std::array kCases{
      Case{GoRelease::kV25_3, false, false, true, false, false},
      Case{GoRelease::kV25_8, true, false, true, false, false},
      Case{GoRelease::kV25_12, true, false, true, true, false},
      Case{GoRelease::kV0_4, true, true, true, true, true},
      Case{GoRelease::kHead, true, true, false, true, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(ToText(c.release));
    const std::string written = WriteCheckpoint(OwnClaims(), std::string(kBoot), c.release);
    EXPECT_EQ(written.contains("\"v2\""), c.has_v2);
    EXPECT_EQ(written.contains("nodeBootID"), c.has_boot);
    EXPECT_EQ(written.contains(R"("configState":{"mpsControlDaemonID":""})"), c.spells_out_mps);
    EXPECT_EQ(written.contains("concrete"), c.has_tuple);
    EXPECT_EQ(written.contains("parentPCIBusID"), c.has_bus);
    EXPECT_TRUE(ReadCheckpoint(written).value().checksum_matches);
    GoRelease named{};
    EXPECT_TRUE(FromText(ToText(c.release), named));
    EXPECT_EQ(named, c.release);
  }
}

TEST(WriteCheckpoint, AClaimThatWeCompletedHasOurDevices) {
  api::PreparedClaim claim = Read("head").claims.at(2);
  ASSERT_EQ(claim.state, api::ClaimState::kStarted);
  claim.state = api::ClaimState::kCompleted;
  claim.devices.at(0).hardware.gpu_uuid = Gpu(2);
  claim.devices.at(0).hardware.mig->uuid = "MIG-2";
  const Checkpoint again = ReadCheckpoint(WriteCheckpoint({claim}, "", GoRelease::kHead)).value();
  EXPECT_EQ(again.claims.at(0).state, api::ClaimState::kCompleted);
  EXPECT_EQ(again.claims.at(0).devices.at(0).hardware.mig->uuid, "MIG-2");
}

TEST(GoJson, PrintsAndSumsAsGoDoes) {
  EXPECT_EQ(
      PrintGoJson(
          json::ParseJson(R"({ "b": "<&>\u2028\u2029\u0007\b\f\n/é\u007f", "a": [1, -2, 1.5, true, null] })").value()),
      "{\"b\":\"\\u003c\\u0026\\u003e\\u2028\\u2029\\u0007\\b\\f\\n/é\x7f\",\"a\":[1,-2,1.5,true,null]}");
  EXPECT_EQ(GoChecksum(R"({"checksum":0,"v1":{}})"), 1083090442U);
}

TEST(GoDeviceName, SaysMinorProfileAndPlacement) {
  struct Case {
    std::string_view name;
    std::optional<GoDeviceName> expected;
  };
  const std::vector<Case> cases = {
      {"gpu-12", GoDeviceName{12, false, "", 0, 0}},
      {"gpu-0-mig-1g24gb-19-0", GoDeviceName{0, true, "1g.24gb", 0, 0}},
      {"gpu-3-mig-1g10gb-me-20-6", GoDeviceName{3, true, "1g.10gb+me", 6, 0}},
      {"gpu-3-mig-1c2g10gb-14-4", GoDeviceName{3, true, "1c.2g.10gb", 4, 0}},
      {"gpu-0-mig-19-4-1", GoDeviceName{0, true, "", 4, 1}},
      {"gpu-vfio-0", std::nullopt},
      {"gpu-0-mig-19", std::nullopt},
      {"gpu-", std::nullopt},
      {"gpu--1", std::nullopt},
      {"channel-0", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(ParseGoDeviceName(c.name), c.expected) << c.name;
}

}  // namespace
}  // namespace tessera::journal
