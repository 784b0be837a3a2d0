// `tessera run --image` with podman, as root and as an ordinary user. The image is made of busybox; nothing is pulled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>

#include "base/text.h"
#include "tests/cli/nobody.h"
#include "tests/cli/run_setup.h"
#include "tests/cli/runtimes.h"
#include "tests/support/sim_root.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBusybox = "/usr/bin/busybox";
constexpr const char* kImage = "localhost/tessera-test:1";

// podman with everything that it keeps in one directory, and limits that also a confined root may set.
class Podman {
 public:
  Podman(fs::path home, bool as_nobody) : home_(std::move(home)), as_nobody_(as_nobody) {
    Put("storage.conf", Format("[storage]\ndriver = \"vfs\"\ngraphroot = \"{0}/storage\"\nrunroot = \"{0}/run\"\n"
                               "[storage.options.vfs]\nignore_chown_errors = \"true\"\n",
                               home_.string()));
    Put("containers.conf", Format("[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n"
                                  "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n{}",
                                  HasMixedCgroups() ? "runtime = \"runc\"\n" : ""));
  }

  std::unique_ptr<Program> Start(const std::string& program, std::vector<std::string> arguments) const {
    const std::vector<std::string> environment{"HOME=" + home_.string(), "XDG_RUNTIME_DIR=" + home_.string(),
                                               "CONTAINERS_CONF=" + (home_ / "containers.conf").string(),
                                               "CONTAINERS_STORAGE_CONF=" + (home_ / "storage.conf").string()};
    if (!as_nobody_) return std::make_unique<Program>(program, std::move(arguments), environment);
    return std::make_unique<Program>(kSetpriv, AsNobody(program, arguments), environment);
  }

  // Empty, or what went wrong.
  std::string MakeImage() const {
    fs::create_directories(home_ / "image/bin");
    fs::copy_file(kBusybox, home_ / "image/bin/busybox");
    fs::create_symlink("busybox", home_ / "image/bin/sh");
    const std::string tar = home_ / "image.tar";
    const Outcome packed = RunProgram("/usr/bin/tar", {"-C", home_ / "image", "-cf", tar, "."});
    if (packed.code != 0) return packed.err;
    const Outcome made = Start("/usr/bin/podman", {"import", tar, kImage})->Wait();
    return made.code == 0 ? "" : made.err;
  }

 private:
  void Put(const char* name, const std::string& text) const {
    EXPECT_TRUE(ReplaceFile(home_ / name, text, 0644).has_value());
  }

  const fs::path home_;
  const bool as_nobody_;
};

class RunPodman : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "a runtime starts the hook where it cannot look for leaks; hook_test does";
#endif
    if (const auto why = WhyNot("podman")) GTEST_SKIP() << *why;
    if (!fs::exists(kBusybox)) GTEST_SKIP() << "busybox-static is not installed";
    for (const fs::path& directory : {setup_.dir(), machine_.path()}) MakeReadable(directory);
  }

  // A run of a script in the image, with the fourth and the sixth GPU.
  std::unique_ptr<Program> Start(const Podman& podman, const std::string& script,
                                 const std::vector<std::string>& places) const {
    const auto all = setup_.Uuids();
    const std::string claim = setup_.Write(
        "claim.yaml", ClaimYaml(2, Format("device.attributes['gpu.nvidia.com'].uuid in ['{}', '{}']", all[3], all[5])));
    std::vector<std::string> arguments = RunOnMachine(claim, machine_, leases_);
    arguments.insert(arguments.end(), {"--runtime", "podman", "--image", kImage, "--runtime-option=--network=none"});
    arguments.insert(arguments.end(), places.begin(), places.end());
    arguments.insert(arguments.end(), {"--", "sh", "-c", script});
    return podman.Start("tessera", arguments);
  }

  void ExpectItsGpusAndNoOthers(const Podman& podman, const std::vector<std::string>& places) const {
    const Outcome seen = Start(podman, "echo /dev/nvidia?; exit 7", places)->Wait();
    EXPECT_EQ(seen.out, "/dev/nvidia3 /dev/nvidia5\n") << seen.err;
    EXPECT_EQ(seen.code, 7);
  }

  const RunSetup setup_;
  const SimRoot machine_{"dgx-h100"};
  const fs::path leases_ = MakeShared(setup_.dir() / "shared") / "leases";
};

TEST_F(RunPodman, GivesAContainerItsGpusByTheNamesOfItsCdiFile) {
  const TempDir home = TempDir::Create("podman").value();
  const Podman podman(home.path(), false);
  ASSERT_EQ(podman.MakeImage(), "");
  ExpectItsGpusAndNoOthers(podman, {"--state-dir", setup_.dir() / "state"});
}

TEST_F(RunPodman, GivesTheSameFromCdiFilesThatItDoesNotLookFor) {
  const TempDir home = TempDir::Create("podman").value();
  const Podman podman(home.path(), false);
  ASSERT_EQ(podman.MakeImage(), "");
  ExpectItsGpusAndNoOthers(podman, {"--state-dir", setup_.dir() / "state", "--cdi-dir", setup_.dir() / "cdi"});
}

TEST_F(RunPodman, GivesTheSameToAnOrdinaryUser) {
  if (!MayBeNobody()) GTEST_SKIP() << "only root can be somebody else";
  const NobodysDir home;
  const Podman podman(home.path(), true);
  ASSERT_EQ(podman.MakeImage(), "");
  ExpectItsGpusAndNoOthers(podman, {});
}

TEST_F(RunPodman, StopsAContainerThatOutlivedItsRun) {
  const TempDir home = TempDir::Create("podman").value();
  const Podman podman(home.path(), false);
  ASSERT_EQ(podman.MakeImage(), "");
  const std::vector<std::string> places{"--state-dir", setup_.dir() / "state", "--cdi-dir", setup_.dir() / "cdi"};
  const auto run = Start(podman, "trap '' TERM; echo here; busybox sleep 1000", places);
  ASSERT_EQ(run->WaitForLine(), "here");
  run->Signal(SIGKILL);
  run->Wait();
  const auto containers = [&] { return podman.Start("/usr/bin/podman", {"ps", "--quiet"})->Wait().out; };
  EXPECT_NE(containers(), "") << "otherwise this test shows nothing";
  EXPECT_EQ(Start(podman, "exit 7", places)->Wait().code, 7);
  EXPECT_EQ(containers(), "");
}

}  // namespace
}  // namespace tessera::tests
