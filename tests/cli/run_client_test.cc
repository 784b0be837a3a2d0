// `tessera run` with the clients of container daemons, and with crun where it cannot run: a stand-in under their names
// (container_client.sh) tells what they were asked for, and what was there when they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "cdi/spec.h"
#include "tests/cli/run_setup.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Arguments with NAME for the container's name, DEVICES for the claim's, and STATE for the run's state directory.
struct Client {
  std::string program;
  bool takes_image;
  std::vector<std::string> asked;    // Before anything is prepared.
  std::vector<std::string> run;      // The container.
  std::vector<std::string> removed;  // One that outlived its run.

  friend void PrintTo(const Client& client, std::ostream* out) { *out << client.program; }
};

const std::vector<Client> kClients{
    {"docker",
     true,
     {"docker <info> <--format> <{{json .CDISpecDirs}}>"},
     {"docker <run> <--rm> <--name> <NAME> <--interactive> DEVICES <--volume=/a:/b> <image:1> <nvidia-smi> <-L>"},
     {"docker <rm> <--force> <NAME>"}},
    {"nerdctl",
     true,
     {"nerdctl <--version>"},
     {"nerdctl <run> <--rm> <--name> <NAME> <--interactive> DEVICES <--volume=/a:/b> <image:1> <nvidia-smi> <-L>"},
     {"nerdctl <rm> <--force> <NAME>", "nerdctl <ps> <--all> <--filter> <name=NAME> <--format> <{{.Names}}>"}},
    {"ctr",
     true,
     {"ctr <--version>"},
     {"ctr <run> <--rm> DEVICES <--volume=/a:/b> <image:1> <NAME> <nvidia-smi> <-L>"},
     {"ctr <tasks> <rm> <--force> <NAME>", "ctr <tasks> <list> <--quiet>", "ctr <containers> <rm> <NAME>"}},
    {"crun",
     false,
     {},
     {"crun <--root> <STATE/runtime> <run> <--bundle> <STATE/containers/NAME> <NAME>"},
     {"crun <--root> <STATE/runtime> <kill> <NAME> <KILL>", "crun <--root> <STATE/runtime> <delete> <--force> <NAME>"}},
};

void Replace(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

class RunClient : public ::testing::TestWithParam<Client> {
 protected:
  void SetUp() override {
    fs::create_directory(bin_);
    fs::copy_file(TESSERA_SOURCE_DIR "/tests/cli/container_client.sh", bin_ / GetParam().program);
  }

  // A run of the claim in PATH's client, with these variables for it.
  std::unique_ptr<Program> Start(const std::string& claim, std::vector<std::string> variables = {}) const {
    std::vector<std::string> arguments = setup_.Arguments(claim, {"nvidia-smi", "-L"}, GetParam().program);
    if (GetParam().takes_image) {
      arguments.insert(arguments.end() - 3, {"--image", "image:1", "--runtime-option=--volume=/a:/b"});
    }
    for (std::string& variable : Environment()) variables.push_back(std::move(variable));
    return std::make_unique<Program>("tessera", std::move(arguments), std::move(variables));
  }
  // Another run on the machine, with no container.
  Outcome RunBare(const std::string& claim, std::vector<std::string> variables = {}) const {
    for (std::string& variable : Environment()) variables.push_back(std::move(variable));
    return RunProgram("tessera", setup_.Arguments(claim, {"true"}), std::move(variables));
  }
  // A run that was killed while its container was there; then also what the container is called.
  std::string KilledRun() const {
    const auto run = Start(one_, {"CLIENT_STAYS=1"});
    EXPECT_EQ(run->WaitForLine(), "here");
    run->Signal(SIGKILL);
    run->Wait();
    const auto containers = Containers();
    EXPECT_EQ(containers.size(), 1U) << "otherwise this test shows nothing";
    return containers.empty() ? "" : containers.front();
  }

  std::vector<std::string> Calls() const {
    const std::string text = ReadFile(bin_ / "calls").value_or("");
    std::vector<std::string> lines;
    for (const std::string_view line : Split(Trim(text), '\n')) lines.emplace_back(line);
    return lines;
  }
  std::vector<std::string> Containers() const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(bin_ / "containers", none))
      names.push_back(entry.path().filename());
    return names;
  }
  // The claim's CDI file, as the client found it.
  cdi::Spec SpecThatWasThere() const {
    for (const auto& entry : fs::directory_iterator(bin_ / "cdi")) {
      return cdi::Parse(ReadFile(entry.path()).value()).value();
    }
    ADD_FAILURE() << "there was no CDI file";
    return {};
  }
  std::vector<std::string> Filled(std::vector<std::string> lines, const std::string& name) const {
    for (std::string& line : lines) {
      Replace(line, "NAME", name);
      Replace(line, "STATE", (setup_.dir() / "state").string());
    }
    return lines;
  }

  const RunSetup setup_;
  const fs::path bin_ = setup_.dir() / "bin";
  const std::string one_ = setup_.Write("one.yaml", ClaimYaml(1)), all_ = setup_.Write("all.yaml", ClaimYaml(8));

 private:
  std::vector<std::string> Environment() const {
    return {Format("PATH={}:{}", bin_.string(), std::getenv("PATH")), "CLIENT_CDI=" + (setup_.dir() / "cdi").string(),
            "DOCKER_HOST=unix:///somewhere"};
  }
};

class RunDocker : public RunClient {};  // It alone says where it looks.

TEST_P(RunClient, IsGivenTheClaimsDevicesByNameAndItsExitCodeIsOurs) {
  const auto all = setup_.Uuids();
  const std::string claim = setup_.Write(
      "claim.yaml", ClaimYaml(2, Format("device.attributes['gpu.nvidia.com'].uuid in ['{}', '{}']", all[3], all[5])));
  const Outcome result = Start(claim)->Wait();
  EXPECT_EQ(result.code, 7) << result.err;

  std::vector<std::string> nodes, devices;
  const cdi::Spec spec = SpecThatWasThere();
  for (const cdi::Device& device : spec.devices) {
    devices.push_back(Format("<--device> <{}>", cdi::QualifiedName(spec, device)));
    for (const cdi::DeviceNode& node : device.edits.device_nodes) nodes.push_back(node.path);
  }
  EXPECT_THAT(nodes, UnorderedElementsAre("/dev/nvidia3", "/dev/nvidia5"));

  const auto calls = Calls();
  ASSERT_FALSE(calls.empty());
  const std::size_t at = calls.back().find("<tessera-");
  ASSERT_NE(at, std::string::npos) << calls.back();
  std::vector<std::string> expected = GetParam().asked;
  expected.insert(expected.end(), GetParam().run.begin(), GetParam().run.end());
  expected = Filled(expected, calls.back().substr(at + 1, calls.back().find('>', at) - at - 1));
  Replace(expected.back(), "DEVICES", Join(devices, " "));
  EXPECT_EQ(calls, expected);
  EXPECT_THAT(ReadFile(bin_ / "environment").value(), HasSubstr("DOCKER_HOST=unix:///somewhere\n"));
  EXPECT_TRUE(setup_.HoldsNothing());
}

TEST_P(RunClient, LeavesNoContainerWhenItsRunIsKilled) {
  const std::string container = KilledRun();
  const std::size_t before = Calls().size();
  const Outcome next = RunBare(all_);
  EXPECT_EQ(next.code, 0) << next.err;
  const auto calls = Calls();
  EXPECT_EQ(std::vector(calls.begin() + static_cast<std::ptrdiff_t>(before), calls.end()),
            Filled(GetParam().removed, container));
  EXPECT_THAT(Containers(), ElementsAre());
  EXPECT_TRUE(setup_.HoldsNothing());
}

TEST_P(RunClient, ThatRemovesNothingKeepsItsGpusTaken) {
  KilledRun();
  const Outcome refused = RunBare(all_, {"CLIENT_DEAF=1"});
  EXPECT_EQ(refused.code, 125);
  EXPECT_THAT(refused.err, HasSubstr("allocated to another claim"));
  const Outcome given = RunBare(all_);
  EXPECT_EQ(given.code, 0) << given.err;
}

TEST_P(RunClient, WhoseContainerHasEndedIsReleasedAsWell) {
  fs::remove(bin_ / "containers" / KilledRun());
  const Outcome next = RunBare(all_);
  EXPECT_EQ(next.code, 0) << next.err;
}

TEST_P(RunDocker, ThatLooksElsewhereForCdiFilesIsNotStarted) {
  const Outcome refused = Start(one_, {"CLIENT_SAYS=/elsewhere"})->Wait();
  EXPECT_EQ(refused.code, 125);
  EXPECT_THAT(refused.err, HasSubstr("docker looks for CDI files in /elsewhere, not in"));
  EXPECT_EQ(Calls().size(), 1U);
  EXPECT_TRUE(setup_.HoldsNothing());
}

INSTANTIATE_TEST_SUITE_P(Clients, RunClient, ::testing::ValuesIn(kClients),
                         [](const auto& given) { return given.param.program; });
INSTANTIATE_TEST_SUITE_P(Clients, RunDocker, ::testing::Values(kClients.front()));

}  // namespace
}  // namespace tessera::tests
