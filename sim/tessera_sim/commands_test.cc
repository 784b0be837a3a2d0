#include "sim/tessera_sim/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/text.h"
#include "nvml/abi.h"
#include "sim/profile.h"
#include "tests/support/paths.h"

namespace tessera::sim::command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace abi = nvml::abi;

const Path kData = Path(TESSERA_SOURCE_DIR) / "sim";

// A simulated machine in a directory of its own.
class CommandsTest : public testing::Test {
 protected:
  void Use(const std::string& profile) {
    auto dir = TempDir::Create("tessera-sim");
    ASSERT_TRUE(dir) << dir.error().Text();
    dir_.emplace(std::move(*dir));
    const auto machine = LoadProfile(kData, profile);
    ASSERT_TRUE(machine) << machine.error().Text();
    auto store = Store::Create(root(), *machine);
    ASSERT_TRUE(store) << store.error().Text();
    store_ = std::move(*store);
  }

  Path root() const { return dir_->path(); }

  Gpu Now(std::string_view name) {
    Machine machine = **store_->Read();
    return **FindGpu(machine, name);
  }

  // "minor type data" of each event since the last call.
  std::vector<std::string> Events() {
    const auto events = store_->WaitEvents(seen_, std::chrono::milliseconds(0));
    std::vector<std::string> found;
    for (const Event& event : events.value()) {
      found.push_back(Format("{} {:#x} {}", event.minor, event.type, event.data));
      seen_ = event.sequence;
    }
    return found;
  }

  std::optional<TempDir> dir_;
  std::unique_ptr<Store> store_;
  std::uint64_t seen_ = 0;
};

// The message of a command that must fail.
std::string Failure(const Output& output) { return output ? "it worked: " + *output : output.error().Text(); }

TEST_F(CommandsTest, GpusHaveThreeNames) {
  Use("mixed");
  const std::string uuid = Now("0").uuid;
  for (const std::string& name :
       {std::string("0"), uuid, std::string("0000:1a:00.0"), std::string("00000000:1A:00.0")}) {
    EXPECT_EQ(Now(name).uuid, uuid) << name;
  }
  EXPECT_THAT(Failure(Lose(root(), "7")), HasSubstr("there is no GPU \"7\"; there are: 2 (0000:19:00.0, GPU-"));
}

TEST_F(CommandsTest, ErrorsCountAndReport) {
  Use("mixed");
  ASSERT_TRUE(Xid(root(), {.gpu = "2", .code = 48, .gpu_instance = 13, .compute_instance = 0}));
  ASSERT_TRUE(Ecc(root(), "1", 2, 1));
  EXPECT_THAT(Events(), ElementsAre("2 0x8 48", "1 0x1 0", "1 0x2 0"));
  EXPECT_EQ(Now("1").ecc.corrected_volatile, 2U);
  EXPECT_EQ(Now("1").ecc.uncorrected_aggregate, 1U);
}

TEST_F(CommandsTest, HeatSlowsDown) {
  Use("mixed");
  ASSERT_TRUE(Temperature(root(), "0", 95));
  EXPECT_EQ(Now("0").temperature, 95U);
  EXPECT_EQ(Now("0").clocks_event_reasons, 0x49U);
  ASSERT_TRUE(Temperature(root(), "0", 40));
  EXPECT_EQ(Now("0").clocks_event_reasons, 0x1U);
}

TEST_F(CommandsTest, LostAndFoundUnpluggedAndPlugged) {
  Use("l40s");
  ASSERT_TRUE(Lose(root(), "1"));
  EXPECT_TRUE(Now("1").lost);
  EXPECT_THAT(Events(), ElementsAre("1 0x8 79", "1 0x4000 0"));
  ASSERT_TRUE(Find(root(), "1"));
  EXPECT_FALSE(Now("1").lost);
  ASSERT_TRUE(Lose(root(), "1"));
  ASSERT_TRUE(Unplug(root(), "1"));
  EXPECT_FALSE(Now("1").present);
  ASSERT_TRUE(Plug(root(), "1"));
  EXPECT_TRUE(Now("1").present);
  EXPECT_FALSE(Now("1").lost);
}

TEST_F(CommandsTest, AResetCures) {
  Use("mixed");
  ASSERT_TRUE(Ecc(root(), "0", 1, 0));
  ASSERT_TRUE(EnableMig(root(), "0", true));
  ASSERT_TRUE(Set(root(), "0", {"remapped.pending=true", "recoveryAction=1"}));
  ASSERT_TRUE(Lose(root(), "0"));
  ASSERT_TRUE(Reset(root(), "0"));
  EXPECT_FALSE(Now("0").lost);
  EXPECT_EQ(Now("0").mig_mode, 1U);
  EXPECT_EQ(Now("0").ecc.corrected_volatile, 0U);
  EXPECT_EQ(Now("0").ecc.corrected_aggregate, 1U);
  EXPECT_FALSE(Now("0").remapped.pending);
  EXPECT_EQ(Now("0").recovery_action, 0U);
  ASSERT_TRUE(Set(root(), "1", {"processes=[{pid: 7}]"}));
  EXPECT_EQ(Reset(root(), "1").error().code(), "GpuInUse");
}

TEST_F(CommandsTest, AResetEndsWhatSlowsDown) {
  Use("dgx-h100");
  ASSERT_TRUE(LinkErrors(root(), "0", 2, {.replay = 1, .recovery = 2, .crc = 3}));
  ASSERT_TRUE(Slowdown(root(), "0", "power-brake"));
  ASSERT_TRUE(Pcie(root(), "0", 1, 4));
  ASSERT_TRUE(Load(root(), "0", 50));
  ASSERT_TRUE(Reset(root(), "0"));
  EXPECT_EQ(Now("0").links[2].crc_flit_errors, 0U);
  EXPECT_EQ(Now("0").clocks_event_reasons, 0x1U);
  EXPECT_EQ(Now("0").pcie_width, 0U);
  EXPECT_EQ(Now("0").utilization, 0U);
}

TEST_F(CommandsTest, RepairsOfMemoryAddUpAndReport) {
  Use("mixed");
  ASSERT_TRUE(Remap(root(), "0", {.corrected = 1, .uncorrected = 2, .pending = true}));
  EXPECT_EQ(Remap(root(), "0", {.failed = true}).value(),
            Label(Now("0")) + ": 3 rows remapped, one pending, one failed\n");
  EXPECT_THAT(Events(), ElementsAre("0 0x8 63", "0 0x8 64"));
  EXPECT_THAT(Failure(Retire(root(), "0", {})), HasSubstr("has no page retirement"));

  Use("t4");
  EXPECT_THAT(Failure(Remap(root(), "0", {})), HasSubstr("has no row remapping"));
  ASSERT_TRUE(Retire(root(), "0", {.single_bit = 2, .double_bit = 1, .pending = true}));
  EXPECT_EQ(Now("0").retired_pages_single_bit, 2U);
  EXPECT_EQ(Now("0").retired_pages, 1U);
  EXPECT_TRUE(Now("0").retired_pending);
}

TEST_F(CommandsTest, LinksCountErrors) {
  Use("dgx-h100");
  ASSERT_TRUE(LinkErrors(root(), "0", 2, {.replay = 1, .recovery = 2, .crc = 3}));
  EXPECT_EQ(LinkErrors(root(), "0", 2, {.crc = 4}).value(),
            Label(Now("0")) + ": NVLink 2 counts 1 replays, 2 recoveries, 7 CRC errors\n");
  EXPECT_THAT(Failure(LinkErrors(root(), "0", 18, {})), HasSubstr("has no NVLink 18"));
}

TEST_F(CommandsTest, SlowdownsReplaceEachOther) {
  Use("mixed");
  ASSERT_TRUE(Slowdown(root(), "0", "thermal"));
  EXPECT_EQ(Now("0").clocks_event_reasons, 0x49U);
  ASSERT_TRUE(Slowdown(root(), "0", "power-cap"));
  EXPECT_EQ(Now("0").clocks_event_reasons, 0x5U);
  ASSERT_TRUE(Load(root(), "0", 80));
  EXPECT_EQ(Now("0").clocks_event_reasons, 0x4U) << "busy is not idle";
  ASSERT_TRUE(Slowdown(root(), "0", "none"));
  EXPECT_EQ(Now("0").clocks_event_reasons, 0U);
  EXPECT_THAT(Failure(Slowdown(root(), "0", "laziness")), HasSubstr("one of: none, thermal"));
}

TEST_F(CommandsTest, ThePcieLinkGetsWorseAndWellAgain) {
  Use("dgx-h100");
  EXPECT_THAT(Pcie(root(), "0", std::nullopt, 4).value(), HasSubstr("generation 5 of 5, width 4 of 16"));
  EXPECT_THAT(Pcie(root(), "0", 1, std::nullopt).value(), HasSubstr("generation 1 of 5, width 4 of 16"));
  EXPECT_THAT(Pcie(root(), "0", 0, 0).value(), HasSubstr("generation 5 of 5, width 16 of 16"));
}

TEST_F(CommandsTest, TheFabricIsWhatOneSays) {
  Use("dgx-h100");
  ASSERT_TRUE(SetFabric(root(), "0", {.state = 2}));
  ASSERT_TRUE(SetFabric(root(), "0", {.health_mask = 0x1A9}));
  EXPECT_EQ(Now("0").fabric->state, 2U);
  EXPECT_EQ(Now("0").fabric->health_mask, 0x1A9U);
  Use("l4");
  EXPECT_THAT(Failure(SetFabric(root(), "0", {.state = 2})), HasSubstr("has no fabric"));
}

TEST_F(CommandsTest, AdviceIsReportedWhenItChanges) {
  Use("mixed");
  ASSERT_TRUE(Advise(root(), "0", "reboot"));
  ASSERT_TRUE(Advise(root(), "0", "reboot"));
  EXPECT_EQ(Now("0").recovery_action, 2U);
  EXPECT_THAT(Events(), ElementsAre("0 0x8000 2", "0 0x8 154"));
}

TEST_F(CommandsTest, AGpuThatHangsDoesSoInEveryCall) {
  Use("mixed");
  ASSERT_TRUE(Hang(root(), "0", 30));
  EXPECT_EQ((*store_->Read())->faults, (std::vector<Fault>{{.function = "*", .minor = 0, .hang_ms = 30'000}}));
}

TEST_F(CommandsTest, FreshDriverForgets) {
  Use("mixed");
  ASSERT_TRUE(Ecc(root(), "0", 1, 0));
  ASSERT_TRUE(EnableMig(root(), "0", false));
  ASSERT_TRUE(UnloadDriver(root()));
  EXPECT_FALSE((*store_->Read())->driver_loaded);
  EXPECT_THAT(ReloadDriver(root(), "570.1").value(), HasSubstr("version mismatch"));
  EXPECT_TRUE((*store_->Read())->driver_loaded);
  EXPECT_EQ(Now("0").ecc.corrected_volatile, 0U);
  EXPECT_EQ(Now("0").ecc.corrected_aggregate, 1U);
  EXPECT_EQ(Now("0").mig_mode, 0U) << "Hopper keeps the mode only while the driver is there";
  EXPECT_EQ(Now("2").mig_mode, 1U) << "A100 keeps it";
  EXPECT_TRUE(Now("2").instances.empty());
}

TEST_F(CommandsTest, MigFromOnToOff) {
  Use("hgx-h200");
  EXPECT_THAT(Failure(CreateMig(root(), "0", "1g.18gb", {})), HasSubstr("MIG is off"));
  ASSERT_TRUE(EnableMig(root(), "0", false));
  ASSERT_TRUE(CreateMig(root(), "0", "3g.71gb/2c+1c", 4));
  ASSERT_TRUE(CreateMig(root(), "0", "19", {}));
  EXPECT_THAT(Failure(CreateMig(root(), "0", "3g.71gb@4", {})), HasSubstr("no free placement; free: "));
  EXPECT_THAT(Failure(CreateMig(root(), "0", "3g.70gb", {})), HasSubstr("known: 1g.18gb, "));
  EXPECT_EQ(Now("0").instances.size(), 2U);
  EXPECT_THAT(ListMig(root(), "0").value(), HasSubstr("3g.71gb      GPU instance 2  at 4:4"));
  EXPECT_THAT(Failure(DisableMig(root(), "0", false)), HasSubstr("still has GPU instances"));
  ASSERT_TRUE(DestroyMig(root(), "0", 2));
  EXPECT_THAT(Failure(DestroyMig(root(), "0", 2)), HasSubstr("has no GPU instance 2"));
  ASSERT_TRUE(DestroyMig(root(), "0", std::nullopt));
  ASSERT_TRUE(DisableMig(root(), "0", false));
  EXPECT_EQ(Now("0").mig_mode, 0U);
  EXPECT_THAT(Events(), testing::AllOf(testing::SizeIs(6), testing::Each("0 0x100 0")));
}

TEST_F(CommandsTest, PendingMigModeWaitsForReset) {
  Use("dgx-a100-80gb");
  ASSERT_TRUE(EnableMig(root(), "0", true));
  EXPECT_EQ(Now("0").mig_mode, 0U);
  EXPECT_EQ(Now("0").mig_pending, 1U);
  Use("t4");
  EXPECT_THAT(Failure(EnableMig(root(), "0", false)), HasSubstr("has no MIG"));
}

TEST_F(CommandsTest, BridgedLinksGoDownAtBothEnds) {
  Use("dgx-h100");
  ASSERT_TRUE(SetNvLink(root(), "0", "17", false));
  EXPECT_FALSE(Now("0").links[17].up);
  EXPECT_TRUE(Now("0").links[16].up);
  EXPECT_THAT(Failure(SetNvLink(root(), "0", "18", false)), HasSubstr("has no NVLink 18; it has 18"));
  const auto other = TempDir::Create("tessera-profile");
  ASSERT_TRUE(ReplaceFile(other->path() / "two.yaml", NewProfile(kData, "quadro-rtx-6000", 2).value()));
  Use(other->path() / "two.yaml");
  ASSERT_TRUE(SetNvLink(root(), "0", "all", false));
  EXPECT_FALSE(Now("1").links[0].up);
  EXPECT_FALSE(Now("1").links[1].up);
}

TEST_F(CommandsTest, SetReachesEveryField) {
  Use("dgx-h100");
  ASSERT_TRUE(Set(
      root(), "3",
      {"remapped.pending=true", "links[2].crcFlitErrors=7", "fabric.state=2", "processes=[{pid: 12, memory: 4096}]"}));
  const Gpu gpu = Now("3");
  EXPECT_TRUE(gpu.remapped.pending);
  EXPECT_EQ(gpu.links[2].crc_flit_errors, 7U);
  EXPECT_EQ(gpu.fabric->state, 2U);
  ASSERT_EQ(gpu.processes.size(), 1U);
  EXPECT_TRUE(Events().empty());
  ASSERT_TRUE(Set(root(), "3", {"recoveryAction=1"}));
  EXPECT_THAT(Events(), ElementsAre("3 0x8000 1"));

  EXPECT_THAT(Failure(Set(root(), "3", {"recoveryActon=1"})), HasSubstr("did you mean \"recoveryAction\"?"));
  EXPECT_THAT(Failure(Set(root(), "3", {"temperature=hot"})), HasSubstr("temperature: expected integer"));
  EXPECT_THAT(Failure(Set(root(), "3", {"links[99].up=true"})), HasSubstr("99 is no index"));
  EXPECT_THAT(Failure(Set(root(), "3", {"minor=9"})), HasSubstr("cannot be set"));
  EXPECT_THAT(Failure(Set(root(), "3", {"minor"})), HasSubstr("write key=value"));
}

TEST_F(CommandsTest, FaultsAreCheckedListedAndCleared) {
  Use("mixed");
  ASSERT_TRUE(AddFault(root(), {.function = "nvmlDeviceGetUUID", .gpu = "2", .code = "gpu_is_lost", .count = 3}));
  ASSERT_TRUE(AddFault(root(), {.function = "*", .hang_seconds = 0.5}));
  const std::vector<Fault> faults = (*store_->Read())->faults;
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].code, abi::kGpuIsLost);
  EXPECT_EQ(faults[0].minor, 2U);
  EXPECT_EQ(faults[0].remaining, 3);
  EXPECT_EQ(faults[1].hang_ms, 500U);
  EXPECT_EQ(ListFaults(root()).value(),
            "nvmlDeviceGetUUID on GPU 2: returns 15 (GPU_IS_LOST); for 3 more calls\n"
            "*: hangs 500 ms; until cleared\n");
  EXPECT_THAT(Failure(AddFault(root(), {.function = "nvmlDeviceGetUUIDs", .code = "1"})),
              HasSubstr("did you mean nvmlDeviceGetUUID?"));
  EXPECT_THAT(Failure(AddFault(root(), {.function = "*", .code = "GPU_IS_LOTS"})),
              HasSubstr("did you mean GPU_IS_LOST?"));
  EXPECT_THAT(Failure(AddFault(root(), {.function = "*"})), HasSubstr("would do nothing"));
  ASSERT_TRUE(ClearFaults(root(), "nvmlDeviceGetUUID"));
  EXPECT_EQ((*store_->Read())->faults.size(), 1U);
  ASSERT_TRUE(ClearFaults(root(), ""));
  EXPECT_EQ(ListFaults(root()).value(), "no faults\n");
}

TEST_F(CommandsTest, ShowsTheMachine) {
  Use("t4");
  EXPECT_THAT(Show(root(), false).value(), HasSubstr("busId: \"0000:3b:00.0\""));
  EXPECT_THAT(Show(root(), false).value(), testing::Not(HasSubstr("models:")));
  EXPECT_THAT(Show(root(), true).value(), HasSubstr("name: Tesla T4"));
}

TEST(Commands, OtherDirectoriesAreRefused) {
  EXPECT_THAT(Failure(Show("/usr", false)), HasSubstr("/usr is no simulator root; make it one: tessera-sim create"));
}

}  // namespace
}  // namespace tessera::sim::command
