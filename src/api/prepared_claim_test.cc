#include "api/prepared_claim.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "json/decode.h"

namespace tessera::api {
namespace {

Hardware Gpu(std::string uuid) { return {.gpu_uuid = std::move(uuid), .bus_id = "", .gpu_minor = 0, .mig = {}}; }
Hardware MigOf(unsigned gi, unsigned ci, unsigned start, unsigned size) {
  Hardware hardware = Gpu("GPU-a");
  hardware.mig = MigHardware{.uuid = Format("MIG-{}-{}", gi, ci),
                             .gpu_instance = gi,
                             .compute_instance = ci,
                             .profile = "",
                             .placement_start = start,
                             .placement_size = size};
  return hardware;
}

TEST(Overlap, IsJudgedByHardware) {
  struct Case {
    std::string_view name;
    Hardware a, b;
    bool overlap;
  };
  const Case cases[] = {
      {"same GPU", Gpu("GPU-a"), Gpu("GPU-a"), true},
      {"two GPUs", Gpu("GPU-a"), Gpu("GPU-b"), false},
      {"a GPU and its MIG device", Gpu("GPU-a"), MigOf(1, 0, 0, 2), true},
      {"another GPU's MIG device", Gpu("GPU-b"), MigOf(1, 0, 0, 2), false},
      {"the same MIG device", MigOf(1, 0, 0, 2), MigOf(1, 0, 0, 2), true},
      {"neighbours", MigOf(1, 0, 0, 2), MigOf(2, 0, 2, 2), false},
      {"overlapping placements", MigOf(1, 0, 0, 4), MigOf(2, 0, 2, 2), true},
      {"inside", MigOf(1, 0, 0, 8), MigOf(2, 0, 2, 1), true},
      {"compute instances of one GPU instance", MigOf(1, 0, 0, 4), MigOf(1, 1, 0, 4), false},
      {"a placement nobody knows", MigOf(1, 0, 0, 0), MigOf(2, 0, 4, 2), true},
      {"one UUID", {.mig = MigHardware{.uuid = "MIG-1-0"}}, MigOf(1, 0, 0, 2), true},
      {"two UUIDs", {.mig = MigHardware{.uuid = "MIG-2-0"}}, MigOf(1, 0, 0, 2), false},
      {"no UUIDs", {.gpu_uuid = "GPU-b", .mig = MigHardware{}}, {.mig = MigHardware{}}, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Overlap(c.a, c.b), c.overlap);
    EXPECT_EQ(Overlap(c.b, c.a), c.overlap);
  }
}

TEST(ClaimUid, IsSafeInFileNames) {
  for (const std::string_view good : {"3f6c1d2e-8a41-4a57-9d0b-5f2e7c1b9a10", "a", "A1"})
    EXPECT_TRUE(IsClaimUid(good)) << good;
  for (const std::string& bad :
       std::vector<std::string>{"", "-a", "a-", "../x", "a/b", "a.b", "a b", "ä", std::string(64, 'a')}) {
    EXPECT_FALSE(IsClaimUid(bad)) << bad;
  }
}

TEST(PreparedClaim, SurvivesJson) {
  PreparedClaim claim{.claim = {"default", "train", "uid-1"},
                      .state = ClaimState::kCompleted,
                      .boot_id = "boot",
                      .pods = {"default/train-0"},
                      .devices = {{.requests = {"gpus"},
                                   .pool = "node-a",
                                   .name = "gpu-0-mig-1g10gb-19-0",
                                   .admin_access = true,
                                   .share_id = "share",
                                   .hardware = MigOf(1, 0, 0, 2),
                                   .cdi_ids = {"k8s.gpu.nvidia.com/claim=x"}}},
                      .allocation = json::Object{{"devices", json::Object{}}},
                      .origin = "go",
                      .adopted = nullptr};
  EXPECT_EQ(json::Decode<PreparedClaim>(json::Encode(claim)).value(), claim);
}

}  // namespace
}  // namespace tessera::api
