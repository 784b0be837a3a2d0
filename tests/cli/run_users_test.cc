// `tessera run` for an ordinary user, and for several at once. Root tries it as nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "base/text.h"
#include "tests/cli/nobody.h"
#include "tests/cli/run_setup.h"
#include "tests/cli/runtimes.h"
#include "tests/support/paths.h"
#include "tests/support/sim_root.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RunUsers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!MayBeNobody()) GTEST_SKIP() << "only root can be somebody else";
    for (const fs::path& directory : {setup_.dir(), machine_.path()}) MakeReadable(directory);
  }

  // A run on the machine, of root or, with its own state, of nobody.
  std::unique_ptr<Program> Start(bool as_nobody, const std::string& claim, const std::vector<std::string>& command,
                                 const std::string& runtime = "none") const {
    const fs::path own = as_nobody ? home_.path() : setup_.dir();
    std::vector<std::string> arguments = RunOnMachine(claim, machine_, leases_);
    arguments.insert(arguments.end(),
                     {"--state-dir", own / "state", "--cdi-dir", own / "cdi", "--runtime", runtime, "--"});
    arguments.insert(arguments.end(), command.begin(), command.end());
    if (!as_nobody) return std::make_unique<Program>("tessera", arguments);
    arguments = AsNobody("tessera", arguments);
    if (runtime != "crun" || !HasMixedCgroups()) return std::make_unique<Program>(kSetpriv, arguments);
    return std::make_unique<Program>(kUnshare, WithUnifiedCgroups(kSetpriv, arguments));
  }

  const RunSetup setup_;
  const SimRoot machine_{"dgx-h100"};
  const fs::path leases_ = MakeShared(setup_.dir() / "shared") / "leases";
  const NobodysDir home_;
  const std::string one_ = setup_.Write("one.yaml", ClaimYaml(1)), all_ = setup_.Write("all.yaml", ClaimYaml(8));
};

TEST_F(RunUsers, AnOrdinaryUserGetsAGeForceWithoutSayingWhereAnythingIs) {
  const Outcome result =
      RunProgram(kSetpriv,
                 AsNobody("tessera", {"run", "-f", one_, "--simulate", "geforce-rtx-4090", "--runtime", "none", "--",
                                      "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; ls \"$XDG_RUNTIME_DIR/tessera\""}),
                 {"XDG_RUNTIME_DIR=" + home_.path().string()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr(RunSetup("geforce-rtx-4090").Uuids().front()), HasSubstr("simulated-geforce-rtx-4090")));
}

TEST_F(RunUsers, ASimulatorThatAnOrdinaryUserMayNotSeeIsSaid) {
  const TempDir roots = TempDir::Create("roots").value();
  fs::copy_file(TESSERA_BINARY_DIR "/bin/tessera", roots.path() / "tessera");
  // Without AsNobody's env(1) between them: only setpriv can start what nobody may not see.
  std::vector<std::string> arguments = kBecomeNobody;
  arguments.insert(arguments.end(), {roots.path() / "tessera", "run", "-f", one_, "--simulate", "l4", "--runtime",
                                     "none", "--", "true"});
  const Outcome result = RunProgram(kSetpriv, arguments);
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("tessera-sim is not there"));
}

TEST_F(RunUsers, NoGpuIsGivenToTwoUsers) {
  for (const bool first : {false, true}) {
    SCOPED_TRACE(first ? "nobody, then root" : "root, then nobody");
    const auto holder = Start(first, all_, {"sh", "-c", "echo here; exec sleep 1000"});
    ASSERT_EQ(holder->WaitForLine(), "here");
    const Outcome refused = Start(!first, one_, {"true"})->Wait();
    EXPECT_EQ(refused.code, 125);
    EXPECT_THAT(refused.err, HasSubstr("allocated to another claim [of another user (tessera run)]"));
    holder->Signal(SIGKILL);
    holder->Wait();
    const Outcome given = Start(!first, all_, {"true"})->Wait();
    EXPECT_EQ(given.code, 0) << given.err;
  }
}

class RunUsersIn : public RunUsers, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (const auto why = WhyNot(GetParam())) GTEST_SKIP() << *why;
    RunUsers::SetUp();
  }
};

TEST_P(RunUsersIn, AnOrdinaryUsersContainerSeesItsGpuAndNoOther) {
  const Outcome result = Start(true, one_, {"sh", "-c", "echo /dev/nvidia?; nvidia-smi -L"}, GetParam())->Wait();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("/dev/nvidia0\nGPU 0: "));
  EXPECT_EQ(std::ranges::count(result.out, '\n'), 2) << result.out;
}

TEST_P(RunUsersIn, AnOrdinaryUsersContainerHasItsRightsAndNoMore) {
  const std::string mine = home_.path() / "mine", roots = setup_.dir() / "roots";
  const Outcome result = Start(true, one_, {"sh", "-c", Format("touch {}; touch {}", mine, roots)}, GetParam())->Wait();
  EXPECT_NE(result.code, 0);
  EXPECT_TRUE(fs::exists(mine)) << result.err;
  EXPECT_FALSE(fs::exists(roots));
}

TEST_P(RunUsersIn, AnOrdinaryUsersContainerThatOutlivesItsRunIsStoppedByTheNext) {
  const auto run = Start(true, one_, {"sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done"}, GetParam());
  const auto command = ParseNumber<pid_t>(run->WaitForLine());
  ASSERT_TRUE(command.has_value());
  run->Signal(SIGKILL);
  run->Wait();
  EXPECT_EQ(::kill(*command, 0), 0) << "otherwise this test shows nothing";
  const Outcome next = Start(true, all_, {"true"}, GetParam())->Wait();
  EXPECT_EQ(next.code, 0) << next.err;
  while (::kill(*command, 0) == 0) std::this_thread::yield();  // It was killed; that it is gone takes a moment.
}

INSTANTIATE_TEST_SUITE_P(Runtimes, RunUsersIn, ::testing::Values("crun", "runc"),
                         [](const auto& given) { return given.param; });

}  // namespace
}  // namespace tessera::tests
