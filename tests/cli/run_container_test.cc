// `tessera run` with container runtimes, where they are installed and may be used: the container sees exactly its GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/text.h"
#include "tests/cli/run_setup.h"
#include "tests/cli/runtimes.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::UnorderedElementsAre;

class RunContainer : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const auto why = WhyNot(GetParam())) GTEST_SKIP() << *why;
    // Where only the second version is mounted for it, it wants to lock memory without a limit, which root may not do
    // everywhere. For an ordinary user it does neither: run_users_test.cc.
    if (GetParam() == "crun" && HasMixedCgroups()) GTEST_SKIP() << "crun does not take this machine's control groups";
  }
};

TEST_P(RunContainer, SeesItsGpusAndNoOthers) {
  const RunSetup setup;
  const auto all = setup.Uuids();
  const std::string claim = setup.Write(
      "claim.yaml", ClaimYaml(2, Format("device.attributes['gpu.nvidia.com'].uuid in ['{}', '{}']", all[3], all[5])));
  const Outcome seen = setup.Run(claim, {"nvidia-smi", "-L"}, GetParam());
  ASSERT_EQ(seen.code, 0) << seen.err;
  std::vector<std::string> uuids;
  for (const std::string& uuid : all) {
    if (seen.out.contains(uuid)) uuids.push_back(uuid);
  }
  EXPECT_THAT(uuids, UnorderedElementsAre(all[3], all[5])) << seen.out;
  const Outcome nodes = setup.Run(claim, {"sh", "-c", "echo /dev/nvidia?"}, GetParam());
  EXPECT_EQ(nodes.out, "/dev/nvidia3 /dev/nvidia5\n") << nodes.err;
  EXPECT_TRUE(setup.HoldsNothing());
}

TEST_P(RunContainer, HasThisMachinesFilesAndWorksWhereItWasStarted) {
  const RunSetup setup("l4");
  const std::string claim = setup.Write("claim.yaml", ClaimYaml(1));
  const std::string file = setup.dir() / "result";
  const Outcome result = setup.Run(claim, {"sh", "-c", "pwd > " + file + "; exit 7"}, GetParam());
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_EQ(ReadFile(file).value(), fs::current_path().string() + "\n");
}

TEST_P(RunContainer, GetsSignals) {
  const RunSetup setup("l4");
  const std::string claim = setup.Write("claim.yaml", ClaimYaml(1));
  Program run(
      "tessera",
      setup.Arguments(claim, {"sh", "-c", "trap 'kill $!; exit 42' TERM; sleep 1000 & echo here; wait"}, GetParam()));
  ASSERT_EQ(run.WaitForLine(), "here");
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().code, 42);
  EXPECT_TRUE(setup.HoldsNothing());
}

TEST_P(RunContainer, ThatOutlivesItsRunIsStoppedByTheNext) {
  const RunSetup setup("l4");
  const std::string claim = setup.Write("claim.yaml", ClaimYaml(1));
  // Deaf to the signal that its runtime passes on when the run dies.
  Program run("tessera",
              setup.Arguments(claim, {"sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done"}, GetParam()));
  const auto command = ParseNumber<pid_t>(run.WaitForLine());
  ASSERT_TRUE(command.has_value());
  run.Signal(SIGKILL);
  run.Wait();
  EXPECT_EQ(::kill(*command, 0), 0) << "otherwise this test shows nothing";
  EXPECT_EQ(setup.Run(claim, {"true"}).code, 0);
  EXPECT_NE(::kill(*command, 0), 0);
  EXPECT_TRUE(setup.HoldsNothing());
}

INSTANTIATE_TEST_SUITE_P(Runtimes, RunContainer, ::testing::Values("crun", "runc"),
                         [](const auto& given) { return given.param; });

}  // namespace
}  // namespace tessera::tests
