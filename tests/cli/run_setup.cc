#include "tests/cli/run_setup.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "json/value.h"

namespace tessera::tests {

namespace fs = std::filesystem;

std::string ClaimYaml(int count, std::string_view selector, std::string_view match) {
  std::string text = Format(R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: wanted
spec:
  devices:
    requests:
    - name: gpus
      exactly:
        deviceClassName: gpu.nvidia.com
        count: {}
)",
                            count);
  if (!selector.empty()) {
    text += Format("        selectors:\n        - cel:\n            expression: {}\n", Quote(selector));
  }
  if (!match.empty()) text += Format("    constraints:\n    - matchAttribute: {}\n", match);
  return text;
}

std::vector<std::string> RunOnMachine(const std::string& claim, const SimRoot& machine, const fs::path& leases) {
  return {"run", "-f", claim, "--driver-root", machine.path(), "--sysfs-root", machine.sysfs(), "--machine-leases",
          leases};
}

std::string RunSetup::Write(const std::string& name, std::string_view text) const {
  const fs::path file = dir() / name;
  EXPECT_TRUE(ReplaceFile(file, text).has_value());
  return file.string();
}

std::vector<std::string> RunSetup::Arguments(const std::string& claim, std::vector<std::string> command,
                                             const std::string& runtime) const {
  std::vector<std::string> arguments{"run",           "-f",        claim,         "--simulate", profile_, "--state-dir",
                                     dir() / "state", "--cdi-dir", dir() / "cdi", "--runtime",  runtime,  "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  return arguments;
}

Outcome RunSetup::Run(const std::string& claim, std::vector<std::string> command, const std::string& runtime) const {
  return RunProgram("tessera", Arguments(claim, std::move(command), runtime));
}

std::vector<std::string> RunSetup::Uuids() const {
  const Outcome shown = RunProgram("tessera", {"devices", "--simulate", profile_, "-o", "json"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  std::vector<std::string> uuids;
  const auto devices = json::ParseJson(shown.out).value();
  for (const json::Value& device : devices.at("devices").as_array()) {
    if (!device.as_object().contains("mig")) uuids.emplace_back(device.at("gpu").at("uuid").as_string());
  }
  return uuids;
}

bool RunSetup::HoldsNothing() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir() / "cdi", error)) {
    ADD_FAILURE() << entry.path() << " is left";
    return false;
  }
  const std::string all = Write("all.yaml", ClaimYaml(static_cast<int>(Uuids().size())));
  const Outcome result = Run(all, {"true"});
  EXPECT_EQ(result.code, 0) << result.err;
  return result.code == 0;
}

}  // namespace tessera::tests
