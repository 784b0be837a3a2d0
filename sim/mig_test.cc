#include "sim/mig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "base/text.h"
#include "sim/profile.h"
#include "tests/support/paths.h"

namespace tessera::sim {
namespace {

using testing::ElementsAre;

const std::filesystem::path kData = std::filesystem::path(TESSERA_SOURCE_DIR) / "sim";

Model Board(const std::string& name) {
  auto model = LoadModel(kData, name);
  if (!model) Abort(model.error().Text());
  return *model;
}

Gpu MigGpu() {
  Gpu gpu;
  gpu.mig_mode = gpu.mig_pending = 1;
  return gpu;
}

// "13@6": id and place of a new instance, or what went wrong.
std::string Create(const Model& model, Gpu& gpu, std::string_view profile, std::optional<unsigned> start = {}) {
  const MigProfile* row = FindProfileByText(model, profile);
  const auto made = CreateGpuInstance(model, gpu, row == nullptr ? 1000 : row->id, start);
  if (!made) return std::string(ToString(made.error()));
  return Format("{}@{}", (*made)->id, (*made)->start);
}

TEST(Mig, NamesProfilesAsNvidiasToolsDo) {
  struct Case {
    std::string model;
    std::vector<std::string> names;  // Ids 19, 20, 15, 14, 9, 5, 0.
  };
  const std::array cases{
      Case{"a100-sxm4-40gb", {"1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}},
      Case{"a100-sxm4-80gb", {"1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}},
      Case{"h100-sxm5-80gb", {"1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}},
      Case{"h200-sxm5-141gb", {"1g.18gb", "1g.18gb+me", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"}},
      Case{"b200-sxm-180gb", {"1g.23gb", "1g.23gb+me", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"}},
      Case{"gb200", {"1g.23gb", "1g.23gb+me", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.model);
    const Model model = Board(c.model);
    std::vector<std::string> names;
    for (const MigProfile& profile : model.mig) names.push_back(ProfileName(model, profile));
    EXPECT_EQ(names, c.names);
  }
}

TEST(Mig, NamesSuffixesByProfileNumber) {
  const Model model = Board("h200-sxm5-141gb");
  MigProfile profile = *FindProfileById(model, 19);
  struct Case {
    unsigned number;
    std::string_view name;
  };
  for (const auto& [number, name] : {Case{0, "1g.18gb"},
                                     {7, "1g.18gb+me"},
                                     {0xA, "1g.18gb+gfx"},
                                     {0xD, "1g.18gb-me"},
                                     {0xF, "1g.18gb+me.all"},
                                     {0x11, "1g.18gb+gfx"}}) {
    profile.number = number;
    EXPECT_EQ(ProfileName(model, profile), name);
  }
}

TEST(Mig, FindsProfilesByNameIdAndNumber) {
  const Model model = Board("h200-sxm5-141gb");
  EXPECT_EQ(FindProfileByText(model, "3g.71gb")->id, 9U);
  EXPECT_EQ(FindProfileByText(model, "20")->number, 7U);
  EXPECT_EQ(FindProfileByNumber(model, 9)->id, 15U);
  EXPECT_EQ(FindProfileByText(model, "3g.70gb"), nullptr);
  EXPECT_EQ(FindProfileById(model, 7), nullptr);
  EXPECT_EQ(MemorySlices(model), 8U);
  EXPECT_EQ(MemorySlices(Board("l4")), 0U);
}

// NVIDIA's MIG guide makes 1g, 2g and 4g in this order and shows these ids and places.
TEST(Mig, PlacesSmallInstancesWhereLargeOnesStillFit) {
  const Model model = Board("a100-sxm4-40gb");
  Gpu gpu = MigGpu();
  EXPECT_EQ(Create(model, gpu, "1g.5gb"), "13@6");
  EXPECT_EQ(Create(model, gpu, "2g.10gb"), "5@4");
  EXPECT_EQ(Create(model, gpu, "4g.20gb"), "1@0");
  EXPECT_EQ(Create(model, gpu, "1g.5gb"), "no free placement");
}

TEST(Mig, NumbersInstancesBySizeClass) {
  const Model model = Board("h200-sxm5-141gb");
  struct Case {
    std::string_view profile;
    unsigned start;
    std::string_view id;
  };
  for (const auto& [profile, start, id] : {Case{"7g.141gb", 0, "0@0"},
                                           {"4g.71gb", 0, "1@0"},
                                           {"3g.71gb", 0, "1@0"},
                                           {"3g.71gb", 4, "2@4"},
                                           {"2g.35gb", 0, "3@0"},
                                           {"2g.35gb", 2, "4@2"},
                                           {"2g.35gb", 4, "5@4"},
                                           {"1g.35gb", 6, "6@6"},
                                           {"1g.18gb", 0, "7@0"},
                                           {"1g.18gb", 6, "13@6"},
                                           {"1g.18gb+me", 3, "10@3"}}) {
    SCOPED_TRACE(profile);
    Gpu gpu = MigGpu();
    EXPECT_EQ(Create(model, gpu, profile, start), id);
  }
}

TEST(Mig, RefusesWhatDoesNotFit) {
  const Model model = Board("h200-sxm5-141gb");
  struct Case {
    std::string_view name, first;
    unsigned first_start;
    std::string_view second;
    std::optional<unsigned> start;
    std::string_view result;
  };
  const std::array cases{
      Case{"same slice", "1g.18gb", 3, "1g.18gb", 3, "no free placement"},
      Case{"3g takes four memory slices", "3g.71gb", 0, "1g.18gb", 3, "no free placement"},
      Case{"beside it", "3g.71gb", 0, "1g.18gb", 4, "11@4"},
      Case{"7g takes all", "7g.141gb", 0, "1g.18gb", {}, "no free placement"},
      Case{"one has the media engines", "1g.18gb+me", 0, "1g.18gb+me", {}, "no free placement"},
      Case{"start not in the table", "1g.18gb", 0, "2g.35gb", 3, "no such profile or placement"},
      Case{"no such profile", "1g.18gb", 0, "9g.99gb", {}, "no such profile or placement"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Gpu gpu = MigGpu();
    Create(model, gpu, c.first, c.first_start);
    EXPECT_EQ(Create(model, gpu, c.second, c.start), c.result);
  }
}

TEST(Mig, CountsComputeSlicesToo) {
  Model model = Board("h200-sxm5-141gb");
  model.mig[2].slices = 2;  // Four of these would fit the memory, but make eight compute slices.
  Gpu gpu = MigGpu();
  for (int i = 0; i < 3; ++i) EXPECT_NE(Create(model, gpu, "15"), "no free placement");
  EXPECT_EQ(Create(model, gpu, "15"), "no free placement");
}

TEST(Mig, NeedsMigOn) {
  const Model model = Board("h200-sxm5-141gb");
  Gpu gpu;
  EXPECT_EQ(Create(model, gpu, "1g.18gb"), "not supported");
  EXPECT_EQ(RemainingCapacity(model, gpu, 19), 7U);
  gpu.mig_mode = 1;
  EXPECT_EQ(Create(Board("l4"), gpu, "1g.18gb"), "not supported");
}

TEST(Mig, CountsWhatStillFits) {
  const Model model = Board("h100-sxm5-80gb");
  Gpu gpu = MigGpu();
  EXPECT_EQ(RemainingCapacity(model, gpu, 19), 7U);
  EXPECT_EQ(RemainingCapacity(model, gpu, 15), 4U);
  Create(model, gpu, "3g.40gb", 4);
  EXPECT_EQ(RemainingCapacity(model, gpu, 19), 4U);
  EXPECT_EQ(RemainingCapacity(model, gpu, 14), 2U);
  EXPECT_EQ(RemainingCapacity(model, gpu, 5), 1U);
  EXPECT_EQ(RemainingCapacity(model, gpu, 0), 0U);
  EXPECT_EQ(RemainingCapacity(model, gpu, 1000), 0U);
  EXPECT_EQ(gpu.instances.size(), 1U);
}

TEST(Mig, CutsInstancesAsTheTableSays) {
  const Model model = Board("a100-sxm4-40gb");
  const auto of = [&](unsigned id) { return ComputeProfiles(model, *FindProfileById(model, id)); };
  EXPECT_THAT(of(19), ElementsAre(CiProfile{0, 1, 1, 14, {0}}));
  EXPECT_THAT(of(14), ElementsAre(CiProfile{0, 1, 2, 14, {0, 1}}, CiProfile{1, 2, 1, 28, {0}}));
  EXPECT_THAT(of(9),
              ElementsAre(CiProfile{0, 1, 3, 14, {0, 1, 2}}, CiProfile{1, 2, 1, 28, {0}}, CiProfile{2, 3, 1, 42, {0}}));
  EXPECT_THAT(of(5), ElementsAre(CiProfile{0, 1, 4, 14, {0, 1, 2, 3}}, CiProfile{1, 2, 2, 28, {0, 2}},
                                 CiProfile{3, 4, 1, 56, {0}}));
  EXPECT_THAT(of(0),
              ElementsAre(CiProfile{0, 1, 7, 14, {0, 1, 2, 3, 4, 5, 6}}, CiProfile{1, 2, 3, 28, {0, 2, 4}},
                          CiProfile{2, 3, 2, 42, {0, 4}}, CiProfile{3, 4, 1, 56, {0}}, CiProfile{4, 7, 1, 98, {0}}));
}

TEST(Mig, ComputeInstancesTakeTheLowestFreeNumbers) {
  const Model model = Board("a100-sxm4-40gb");
  Gpu gpu = MigGpu();
  Create(model, gpu, "3g.20gb", 0);
  Create(model, gpu, "3g.20gb", 4);
  const auto add = [&](unsigned gi, unsigned profile) -> std::string {
    const auto made = CreateComputeInstance(model, gpu, gi, profile, std::nullopt, "MIG-x");
    if (!made) return std::string(ToString(made.error()));
    return Format("ci {} start {} index {}", (*made)->id, (*made)->start, (*made)->mig_index);
  };
  EXPECT_EQ(add(1, 0), "ci 0 start 0 index 0");
  EXPECT_EQ(add(2, 2), "ci 0 start 0 index 1");
  EXPECT_EQ(add(1, 0), "ci 1 start 1 index 2");
  EXPECT_EQ(add(1, 1), "no free placement");
  EXPECT_EQ(add(2, 0), "no free placement");
  EXPECT_EQ(add(1, 3), "not supported");
  EXPECT_EQ(add(1, 9), "no such profile or placement");
  EXPECT_EQ(add(7, 0), "not found");
  ASSERT_TRUE(DestroyComputeInstance(gpu, 1, 0));
  EXPECT_EQ(add(1, 0), "ci 0 start 0 index 0");
}

TEST(Mig, DestroysFromTheInsideOut) {
  const Model model = Board("a100-sxm4-40gb");
  Gpu gpu = MigGpu();
  Create(model, gpu, "2g.10gb", 0);
  ASSERT_TRUE(CreateComputeInstance(model, gpu, 3, 1, std::nullopt, "MIG-x"));
  gpu.processes.push_back({.pid = 1, .memory = 0, .gpu_instance = 3, .compute_instance = 0});
  EXPECT_EQ(DestroyComputeInstance(gpu, 3, 0).error(), MigError::kInUse);
  gpu.processes.clear();
  EXPECT_EQ(DestroyGpuInstance(gpu, 3).error(), MigError::kInUse);
  EXPECT_EQ(DestroyComputeInstance(gpu, 3, 1).error(), MigError::kNotFound);
  EXPECT_TRUE(DestroyComputeInstance(gpu, 3, 0));
  EXPECT_TRUE(DestroyGpuInstance(gpu, 3));
  EXPECT_EQ(DestroyGpuInstance(gpu, 3).error(), MigError::kNotFound);
  EXPECT_EQ(DestroyComputeInstance(gpu, 3, 0).error(), MigError::kNotFound);
  EXPECT_TRUE(gpu.instances.empty());
}

TEST(Mig, ErrorsAreNvmlCodes) {
  EXPECT_EQ(ToNvml(MigError::kNotSupported), 3);
  EXPECT_EQ(ToNvml(MigError::kInvalidProfile), 2);
  EXPECT_EQ(ToNvml(MigError::kNoRoom), 23);
  EXPECT_EQ(ToNvml(MigError::kInUse), 19);
  EXPECT_EQ(ToNvml(MigError::kNotFound), 6);
}

TEST(Mig, UuidsAreNewEachTimeAndTheSameOnEachRun) {
  Machine machine;
  machine.profile = "t4";
  const std::string first = NextMigUuid(machine);
  const std::string second = NextMigUuid(machine);
  EXPECT_NE(first, second);
  EXPECT_THAT(first, testing::MatchesRegex("MIG-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  machine.next_uuid = 1;
  EXPECT_EQ(NextMigUuid(machine), first);
}

}  // namespace
}  // namespace tessera::sim
