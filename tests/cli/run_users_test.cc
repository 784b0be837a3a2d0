// `tessera run` for an ordinary user, and for several at once. Root tries it as nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "tests/cli/nobody.h"
#include "tests/cli/run_setup.h"
#include "tests/cli/runtimes.h"
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
    if (!MayBeNobody()) GTEST_SKIP() << "only root can be somebody else, and nobody must be able to read the build";
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
    return as_nobody ? std::make_unique<Program>(kSetpriv, AsNobody("tessera", arguments))
                     : std::make_unique<Program>("tessera", arguments);
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

TEST_F(RunUsers, AnOrdinaryUsersContainerSeesItsGpuAndNoOther) {
  if (const auto why = WhyNot("runc")) GTEST_SKIP() << *why;
  const Outcome result = Start(true, one_, {"sh", "-c", "echo /dev/nvidia?; nvidia-smi -L"}, "runc")->Wait();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("/dev/nvidia0\nGPU 0: "));
  EXPECT_EQ(std::ranges::count(result.out, '\n'), 2) << result.out;
}

TEST_F(RunUsers, AnOrdinaryUsersContainerHasItsRightsAndNoMore) {
  if (const auto why = WhyNot("runc")) GTEST_SKIP() << *why;
  const std::string mine = home_.path() / "mine", roots = setup_.dir() / "roots";
  const Outcome result = Start(true, one_, {"sh", "-c", Format("touch {}; touch {}", mine, roots)}, "runc")->Wait();
  EXPECT_NE(result.code, 0);
  EXPECT_TRUE(fs::exists(mine)) << result.err;
  EXPECT_FALSE(fs::exists(roots));
}

}  // namespace
}  // namespace tessera::tests
