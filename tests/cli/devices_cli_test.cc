// `tessera devices` as a person runs it: the programs of the build, real processes, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"
#include "tests/support/program.h"
#include "tests/support/sim_root.h"

namespace tessera::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DevicesCommand, ShowsASimulatedMachine) {
  const Outcome result = RunProgram("tessera", {"devices", "--simulate", "dgx-h100"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("gpu-7"), HasSubstr("NVIDIA H100 80GB HBM3"), HasSubstr("HEALTH")));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b["))) << "colours are for terminals";
}

TEST(DevicesCommand, PrintsEveryFormat) {
  for (const std::string format : {"table", "wide", "json", "yaml", "slices"}) {
    const Outcome result = RunProgram("tessera", {"devices", "--simulate", "mixed", "-o", format});
    EXPECT_EQ(result.code, 0) << format << ": " << result.err;
    EXPECT_THAT(result.out, HasSubstr("Tesla T4")) << format;
  }
}

TEST(DevicesCommand, WithoutADriverSaysWhatToDo) {
  const TempDir empty = TempDir::Create("cli-test").value();
  const Outcome result = RunProgram("tessera", {"devices", "--driver-root", empty.path().string()});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("[DriverNotFound]"), HasSubstr("next: ")));
}

TEST(DevicesCommand, ABrokenGpuIsAPartialAnswer) {
  const SimRoot root("l40s", [](sim::Machine& machine) { machine.gpus[0].lost = true; });
  const Outcome result =
      RunProgram("tessera", {"devices", "--driver-root", root.path().string(), "--sysfs-root", root.sysfs().string()});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.out, AllOf(HasSubstr("Not offered:"), HasSubstr("GPU is lost (15)"), HasSubstr("gpu-1")));
}

TEST(DevicesCommand, BadFlagsAreUsage) {
  EXPECT_EQ(RunProgram("tessera", {}).code, 2);
  EXPECT_EQ(RunProgram("tessera", {"devices", "-o", "xml"}).code, 2);
  EXPECT_EQ(RunProgram("tessera", {"devices", "--driver-root", "/nonexistent"}).code, 2);
  EXPECT_EQ(RunProgram("tessera", {"devices", "--simulate", "l4", "--driver-root", "/"}).code, 2);
  EXPECT_EQ(RunProgram("tessera", {"devices", "--node-name", "Bad Name", "-o", "slices"}).code, 2);
  EXPECT_EQ(RunProgram("tessera", {"devices", "--help"}).code, 0);
}

TEST(DevicesCommand, ARecordingNeverReplacesADevice) {
  const TempDir dir = TempDir::Create("cli-test").value();
  const std::string link = (dir.path() / "link").string();
  std::filesystem::create_symlink("/dev/null", link);
  for (const std::string& target : {std::string("/dev/null"), link}) {
    const Outcome result = RunProgram("tessera", {"devices", "--simulate", "l4", "--record", target});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("[NotAFile]"));
  }
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST(DevicesCommand, AStrangersRecordingIsNotTrusted) {
  const TempDir dir = TempDir::Create("cli-test").value();
  const std::string file = (dir.path() / "evil.json").string();
  ASSERT_TRUE(
      ReplaceFile(file, R"({"nvml":{"gpus":[{"index":0,"minor":0,"uuid":"GPU-12345678-1234-1234-1234-123456789abc",
    "name":"\u001b[2Jboo","migEnabled":true,"memoryBytes":99999999999999999,
    "migProfiles":[{"number":0,"id":19,"slices":1,"instances":7,"multiprocessors":16,"copyEngines":1,"decoders":1,
    "encoders":0,"jpegs":0,"ofas":0,"memoryMB":16384}],"migDevices":[{"index":0,
    "uuid":"MIG-12345678-1234-1234-1234-123456789abc","gpuInstance":7,"computeInstance":0,"profileId":19,
    "placementStart":0,"placementSize":4294967295,"computeSlices":1}]}]}})")
          .has_value());
  const Outcome result = RunProgram("tessera", {"devices", "--replay", file});
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  ASSERT_TRUE(ReplaceFile(file, "not json").has_value());
  EXPECT_THAT(RunProgram("tessera", {"devices", "--replay", file}).err, HasSubstr(file));
}

TEST(DevicesCommand, SaysWhatItSkippedWhenAsked) {
  const SimRoot root(
      "l4", [](sim::Machine& machine) { machine.faults = {{.function = "nvmlDeviceGetSerial", .crash = true}}; });
  const Outcome result = RunProgram("tessera", {"devices", "-v", "2", "--logging-format", "json", "--driver-root",
                                                root.path().string(), "--sysfs-root", root.sysfs().string()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr(R"("v":2)"), HasSubstr(R"("function":"nvmlDeviceGetSerial")")));
  EXPECT_THAT(result.out, HasSubstr("Read in part"));
}

TEST(DevicesCommand, AnUnknownProfileIsExplained) {
  const Outcome result = RunProgram("tessera", {"devices", "--simulate", "dgx-h10"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("dgx-h100"));
}

TEST(DevicesCommand, ARecordingReplays) {
  const TempDir dir = TempDir::Create("cli-test").value();
  const std::string file = (dir.path() / "machine.json").string();
  const Outcome recorded =
      RunProgram("tessera", {"devices", "--simulate", "dgx-a100-mig", "--record", file, "-o", "wide"});
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  const Outcome replayed = RunProgram("tessera", {"devices", "--replay", file, "-o", "wide"});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_EQ(replayed.out, recorded.out);
}

TEST(DevicesCommand, ShowsTheHistoryOfFinishedClaims) {
  const TempDir dir = TempDir::Create("cli-test").value();
  const std::string plugin = dir.path().string();
  ASSERT_TRUE(ReplaceFile(dir.path() / "health-history.json", R"({"version":1,"claims":[{"namespace":"ml",
    "name":"train","uid":"u","finished":1700000000,"devices":[{"device":"gpu-0","uuid":"GPU-0","state":"unhealthy",
    "health":"Unhealthy","message":"Xid79: gone."}]}]})")
                  .has_value());
  const Outcome table = RunProgram("tessera", {"devices", "--history", "--plugin-dir", plugin});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("ml/train"), HasSubstr("Unhealthy"), HasSubstr("Xid79: gone.")));
  const Outcome json = RunProgram("tessera", {"devices", "--history", "--plugin-dir", plugin, "-o", "json"});
  EXPECT_EQ(json::ParseJson(json.out)->at("claims").at(0).at("uid"), json::Value("u"));
  EXPECT_EQ(RunProgram("tessera", {"devices", "--history", "--plugin-dir", plugin, "-o", "slices"}).code, 2);
}

TEST(DevicesCommand, AHistoryThatCannotBeReadStaysWhereItIs) {
  const TempDir dir = TempDir::Create("cli-test").value();
  ASSERT_TRUE(ReplaceFile(dir.path() / "health-history.json", "{").has_value());
  EXPECT_EQ(RunProgram("tessera", {"devices", "--history", "--plugin-dir", dir.path().string()}).code, 1);
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "health-history.json"));
  const Outcome missing = RunProgram("tessera", {"devices", "--history", "--plugin-dir", "/nonexistent"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("[NoDirectory]"), HasSubstr("next: ")));
}

TEST(SimCommand, ChangesWhatTheNextProgramSees) {
  const TempDir dir = TempDir::Create("cli-test").value();
  const std::string root = (dir.path() / "root").string();
  const std::string sys = root + "/sys";
  ASSERT_EQ(RunProgram("tessera-sim", {"create", "--profile", "dgx-h100", "--root", root}).code, 0);
  ASSERT_EQ(RunProgram("tessera-sim", {"unplug", "--root", root, "--gpu", "3"}).code, 0);
  EXPECT_THAT(RunProgram("tessera", {"devices", "--driver-root", root, "--sysfs-root", sys}).out,
              Not(HasSubstr("gpu-3 ")));
  ASSERT_EQ(RunProgram("tessera-sim", {"plug", "--root", root, "--gpu", "3"}).code, 0);
  EXPECT_THAT(RunProgram("tessera", {"devices", "--driver-root", root, "--sysfs-root", sys}).out, HasSubstr("gpu-3 "));
}

}  // namespace
}  // namespace tessera::tests
