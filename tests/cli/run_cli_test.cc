// `tessera run` as a person runs it, on simulated GPUs: who gets what, exit codes, signals, and what is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "base/text.h"
#include "tests/cli/run_setup.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::Not;

// Says that it runs, and stays until it is ended. Leaves nothing behind when it is killed.
const std::vector<std::string> kStay{"sh", "-c", "trap 'exit 42' TERM INT; echo $$; while :; do sleep 0.1; done"};

// Somebody else's child; ctest's limit judges.
void WaitUntilGone(pid_t process) {
  while (::kill(process, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

std::vector<std::string> UuidsIn(const std::string& text) {
  std::vector<std::string> uuids;
  for (const std::string_view uuid : Split(Trim(text), ',')) uuids.emplace_back(uuid);
  return uuids;
}

TEST(Run, GivesWhatASelectorAsksFor) {
  const RunSetup setup("mixed");
  const std::string claim = setup.Write(
      "claim.yaml", ClaimYaml(1, "device.attributes['gpu.nvidia.com'].productName.lowerAscii().contains('h100')"));
  const Outcome result = setup.Run(claim, RunSetup::kTell);
  ASSERT_EQ(result.code, 0) << result.err;
  const Outcome shown = RunProgram("tessera", {"devices", "--simulate", "mixed", "-o", "wide"});
  const auto lines = Split(shown.out, '\n');
  const auto line = std::ranges::find_if(lines, [&](auto text) { return text.contains(Trim(result.out)); });
  ASSERT_NE(line, lines.end()) << result.out;
  EXPECT_THAT(std::string(*line), HasSubstr("H100"));
  EXPECT_TRUE(setup.HoldsNothing());
}

// Of the eight GPUs four are on each NUMA node. With the first taken, four of one node are the last four.
TEST(Run, KeepsDevicesTogetherThatAConstraintWantsTogether) {
  const RunSetup setup;
  const auto all = setup.Uuids();
  Program first("tessera", setup.Arguments(setup.Write("one.yaml", ClaimYaml(1)), kStay));
  ASSERT_FALSE(first.WaitForLine().empty());
  const std::string claim = setup.Write("four.yaml", ClaimYaml(4, "", "resource.kubernetes.io/numaNode"));
  const Outcome result = setup.Run(claim, RunSetup::kTell);
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> last(all.end() - 4, all.end());
  EXPECT_THAT(UuidsIn(result.out), ::testing::UnorderedElementsAreArray(last));
}

TEST(Run, RefusesWhatDoesNotFitAndSaysWhy) {
  const RunSetup setup;
  Program holder("tessera", setup.Arguments(setup.Write("six.yaml", ClaimYaml(6)), kStay));
  ASSERT_FALSE(holder.WaitForLine().empty());
  const Outcome result = setup.Run(setup.Write("four.yaml", ClaimYaml(4)), {"touch", setup.dir() / "ran"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("the claim does not fit on this machine"),
                    HasSubstr("request gpus: wants 4, 2 of 8 devices usable"),
                    HasSubstr("Smallest change:\n  ask for 2 instead of 4 in request gpus: then it fits on "),
                    HasSubstr(Format("free what claim default/wanted holds (used by tessera run, "
                                     "process {})",
                                     holder.pid()))));
  EXPECT_FALSE(fs::exists(setup.dir() / "ran"));
}

TEST(Run, PointsAtAMisspeltNameAndSaysHowToWriteIt) {
  const RunSetup setup;
  const std::string claim = ClaimYaml(1, "device.attributes['gpu.nvidia.com'].productname.contains('H100')");
  const Outcome result = setup.Run(setup.Write("claim.yaml", claim), {"true"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("no such attribute on any of 8 devices; did you mean productName?"),
                    HasSubstr("\n   | ...................................^\n"),
                    HasSubstr("Smallest change:\n  write productName instead of productname in selector 0 of request "
                              "gpus: then it fits on ")));
}

TEST(Run, ExitsAsItsCommandDoes) {
  const RunSetup setup("l4");
  const std::string claim = setup.Write("claim.yaml", ClaimYaml(1));
  const std::string text = setup.Write("text", "no program");
  EXPECT_EQ(setup.Run(claim, {"sh", "-c", "exit 3"}).code, 3);
  EXPECT_EQ(setup.Run(claim, {"sh", "-c", "kill -TERM $$"}).code, 128 + SIGTERM);
  EXPECT_EQ(setup.Run(claim, {"no-such-program"}).code, 127);
  EXPECT_EQ(setup.Run(claim, {text}).code, 126);
  EXPECT_TRUE(setup.HoldsNothing());
}

TEST(Run, ALongRefusalIsCutAndNamesNoFlagThatItLacks) {
  const RunSetup setup("l4");
  std::string claim = ClaimYaml(1).substr(0, ClaimYaml(1).find("    - name: gpus"));
  for (int i = 0; i < 30; ++i) {
    claim += Format("    - name: gpu-{}\n      exactly: {{deviceClassName: gpu.nvidia.com}}\n", i);
  }
  const Outcome result = setup.Run(setup.Write("claim.yaml", claim), {"true"});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("more requests"), Not(HasSubstr("json"))));
}

TEST(Run, ItsOwnFailuresAre125) {
  const RunSetup setup("l4");
  const std::string claim = setup.Write("claim.yaml", ClaimYaml(1));
  EXPECT_EQ(RunProgram("tessera", {"run", "-f", claim}).code, 125) << "no command";
  EXPECT_EQ(RunProgram("tessera", {"run", "--", "true"}).code, 125) << "no claim";
  EXPECT_EQ(setup.Run(setup.dir() / "absent.yaml", {"true"}).code, 125);
  const Outcome empty =
      setup.Run(setup.Write("pod.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\n"), {"true"});
  EXPECT_EQ(empty.code, 125);
  EXPECT_THAT(empty.err, HasSubstr("[NoClaim]"));
  std::string other = ClaimYaml(1);
  other.replace(other.find("gpu.nvidia.com"), 14, "no-such-class.x");
  const Outcome no_class = setup.Run(setup.Write("class.yaml", other), {"true"});
  EXPECT_EQ(no_class.code, 125);
  EXPECT_THAT(no_class.err, HasSubstr("no-such-class.x"));
  EXPECT_EQ(RunProgram("tessera", {"run", "--help"}).code, 0);
}

TEST(Run, TakesClassesFromFiles) {
  const RunSetup setup("mixed");
  const std::string classes = setup.Write("classes.yaml", R"(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: small
spec:
  selectors:
  - cel:
      expression: device.attributes['gpu.nvidia.com'].productName == 'Tesla T4'
)");
  std::string claim = ClaimYaml(1);
  claim.replace(claim.find("gpu.nvidia.com"), 14, "small");
  auto arguments = setup.Arguments(setup.Write("claim.yaml", claim), RunSetup::kTell);
  arguments.insert(arguments.begin() + 1, {"--class-file", classes});
  const Outcome result = RunProgram("tessera", arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("GPU-"));
}

TEST(Run, SaysThatABareProcessIsNotIsolated) {
  const RunSetup setup("l4");
  const Outcome result = setup.Run(setup.Write("claim.yaml", ClaimYaml(1)), {"true"});
  EXPECT_THAT(result.err, HasSubstr("no isolation"));
}

TEST(Run, PassesSignalsOnAndReleasesAfterThem) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const RunSetup setup("l4");
    Program run("tessera", setup.Arguments(setup.Write("claim.yaml", ClaimYaml(1)), kStay));
    ASSERT_FALSE(run.WaitForLine().empty());
    run.Signal(signal);
    EXPECT_EQ(run.Wait().code, 42);
    EXPECT_TRUE(setup.HoldsNothing());
  }
}

TEST(Run, ThatWasKilledIsReleasedByTheNext) {
  const RunSetup setup;
  const std::string all = setup.Write("all.yaml", ClaimYaml(8));
  Program run("tessera", setup.Arguments(all, {"sh", "-c", "echo $$; exec sleep 1000"}));
  const auto command = ParseNumber<pid_t>(run.WaitForLine());
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(setup.Run(all, {"true"}).code, 125);
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait().code, 128 + SIGKILL);
  WaitUntilGone(*command);
  EXPECT_EQ(setup.Run(all, {"true"}).code, 0);
  EXPECT_TRUE(setup.HoldsNothing());
}

// A script's own children do not die with it.
TEST(Run, ThatWasKilledKeepsItsGpusAsLongAsSomethingItStartedLives) {
  const RunSetup setup;
  const std::string all = setup.Write("all.yaml", ClaimYaml(8));
  Program run("tessera", setup.Arguments(all, {"sh", "-c", "sleep 1000 & echo $!; wait"}));
  const auto child = ParseNumber<pid_t>(run.WaitForLine());
  ASSERT_TRUE(child.has_value());
  run.Signal(SIGKILL);
  run.Wait();
  EXPECT_EQ(setup.Run(all, {"true"}).code, 125);
  ::kill(*child, SIGKILL);
  WaitUntilGone(*child);
  EXPECT_EQ(setup.Run(all, {"true"}).code, 0);
}

// Winners make a directory of their GPU's name and stay until all others were refused.
TEST(Run, ManyAtOnceNeverShareAGpu) {
  const RunSetup setup;
  const std::string claim = setup.Write("one.yaml", ClaimYaml(1));
  fs::create_directory(setup.dir() / "taken");
  const std::string script = "mkdir taken/$CUDA_VISIBLE_DEVICES || exit 99; while [ ! -e go ]; do sleep 0.02; done";
  std::vector<std::unique_ptr<Program>> runs;
  const std::string here = "cd '" + setup.dir().string() + "' && ";
  for (int i = 0; i < 20; ++i) {
    runs.push_back(std::make_unique<Program>("tessera", setup.Arguments(claim, {"sh", "-c", here + script})));
  }
  const auto ended = [&] { return std::ranges::count_if(runs, [](const auto& run) { return run->Ended(); }); };
  while (ended() < 12) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  setup.Write("go", "");
  std::vector<int> codes;
  for (const auto& run : runs) codes.push_back(run->Wait().code);
  EXPECT_EQ(std::ranges::count(codes, 0), 8);
  EXPECT_EQ(std::ranges::count(codes, 125), 12);
  EXPECT_TRUE(setup.HoldsNothing());
}

}  // namespace
}  // namespace tessera::tests
