// `tessera lint` as a person runs it: files, standard input, directories, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "json/value.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Claim(std::string_view expression) {
  return Format(
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: a}}\nspec:\n  devices:\n    requests:\n"
      "    - name: gpu\n      exactly:\n        deviceClassName: gpu.nvidia.com\n        selectors:\n        - cel:\n"
      "            expression: {}\n",
      expression);
}

TEST(LintCommand, SaysWhatToPasteAndExitsWithOne) {
  const Outcome result = RunProgramWithInput("tessera", {"lint", "-"},
                                             Claim("device.capacity['memory'].compareTo(quantity('20Gi')) >= 0"));
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("standard input:12: error [CelCompileError]"), HasSubstr("paste:"),
                    HasSubstr("expression: device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('20Gi')) >= 0"),
                    HasSubstr("1 error, 0 warnings, 0 notes in 1 object")));
}

TEST(LintCommand, CleanFilesAndWarningsExitWithZero) {
  EXPECT_EQ(RunProgramWithInput("tessera", {"lint", "-"}, Claim("device.driver == 'gpu.nvidia.com'")).code, 0);
  const std::string slices = TESSERA_SOURCE_DIR "/tests/testdata/slices/dgx-h100.yaml";
  const Outcome result =
      RunProgramWithInput("tessera", {"lint", "--slices", slices, "-"},
                          Claim("device.attributes['gpu.nvidia.com'].productname == 'NVIDIA H100 80GB HBM3'"));
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("no such attribute on any of 8 devices"), HasSubstr("did you mean productName?")));
}

TEST(LintCommand, ReadsTheManifestsOfADirectoryTogether) {
  const TempDir dir = TempDir::Create("lint-test").value();
  ASSERT_TRUE(ReplaceFile(dir.path() / "claim.yaml", Claim("device.driver != ''")).has_value());
  ASSERT_TRUE(ReplaceFile(dir.path() / "pod.json",
                          R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
                              "containers": [{"name": "c", "resources": {"claims": [{"name": "g"}]}}],
                              "resourceClaims": [{"name": "g", "resourceClaimName": "a"}]}})")
                  .has_value());
  ASSERT_TRUE(ReplaceFile(dir.path() / "notes.txt", "not: [yaml").has_value());
  const Outcome result = RunProgram("tessera", {"lint", dir.path().string()});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("0 errors, 0 warnings, 0 notes in 2 objects"));
}

TEST(LintCommand, ADirectoryWithoutManifestsIsAnError) {
  const TempDir dir = TempDir::Create("lint-test").value();
  const Outcome result = RunProgram("tessera", {"lint", dir.path().string()});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("error [NoManifests]"));
}

TEST(LintCommand, WhatIsPastedForABlockIsABlock) {
  const Outcome result =
      RunProgramWithInput("tessera", {"lint", "-"},
                          Claim("|\n              device.capacity['memory'].compareTo(quantity('20Gi')) >= 0 &&\n"
                                "              device.driver == 'gpu.nvidia.com'"));
  EXPECT_THAT(result.out,
              HasSubstr("    expression: |-\n"
                        "      device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('20Gi')) >= 0 &&\n"
                        "      device.driver == 'gpu.nvidia.com'\n"));
}

TEST(LintCommand, AFileThatCannotBeReadIsAnErrorAndTheOthersAreChecked) {
  const TempDir dir = TempDir::Create("lint-test").value();
  ASSERT_TRUE(ReplaceFile(dir.path() / "chart.yaml", "name: {{ .Values.name }}\n").has_value());
  const Outcome result =
      RunProgramWithInput("tessera", {"lint", "-", (dir.path() / "chart.yaml").string(), "/nonexistent.yaml"},
                          Claim("device.driver != ''"));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("helm template"), HasSubstr("/nonexistent.yaml"), HasSubstr("in 1 object")));
}

TEST(LintCommand, ADocumentThatIsNoObjectIsAnErrorAndTheOthersAreChecked) {
  const Outcome result = RunProgramWithInput("tessera", {"lint", "-"}, "replicas: 3\n---\n" + Claim("device.driver"));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("standard input:1: error [BadManifest]"),
                                HasSubstr("standard input:14: error [CelCompileError]"),
                                HasSubstr("2 errors, 0 warnings, 0 notes in 1 object")));
}

TEST(LintCommand, PassesOverKindsThatHaveNothingToDoWithDevices) {
  const Outcome result = RunProgramWithInput(
      "tessera", {"lint", "-"},
      "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: example.com/v1\nkind: Deployment\n");
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_EQ(result.out, "0 errors, 0 warnings, 0 notes in 0 objects; 2 of other kinds passed over\n");
}

TEST(LintCommand, ReadsJsonAndWhatKubectlGetPrints) {
  const Outcome result = RunProgramWithInput("tessera", {"lint", "-"},
                                             R"({"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
  "metadata": {"name": "a", "namespace": "ml", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"},
  "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": -1}}]}},
  "status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "v"}]}}]})");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("standard input:4: error [BadValue]"), HasSubstr("ResourceClaim ml/a:"),
                                HasSubstr("1 error, 0 warnings, 0 notes in 1 object")));
}

TEST(LintCommand, AFileThatIsTooLargeIsAnErrorWithTheLimit) {
  const TempDir dir = TempDir::Create("lint-test").value();
  const fs::path file = dir.path() / "large.yaml";
  ASSERT_TRUE(ReplaceFile(file, "").has_value());
  fs::resize_file(file, std::uintmax_t{65} << 20);  // A hole: takes no room.
  const Outcome result = RunProgram("tessera", {"lint", file.string()});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("error [FileTooLarge]"), HasSubstr("67108864")));
}

TEST(LintCommand, PrintsJsonForPrograms) {
  const Outcome result = RunProgramWithInput("tessera", {"lint", "-o", "json", "-"}, Claim("device.drver == 'x'"));
  EXPECT_EQ(result.code, 1);
  const auto report = json::ParseJson(result.out);
  ASSERT_TRUE(report.has_value()) << result.out;
  const auto& finding = report->at("findings").at(0);
  EXPECT_EQ(finding.at("line").to_number<int>(), 12);
  EXPECT_EQ(finding.at("code").as_string(), "CelCompileError");
  EXPECT_EQ(finding.at("path").as_string(), "spec.devices.requests[0].exactly.selectors[0].cel.expression");
  EXPECT_EQ(report->at("errors").to_number<int>(), 1);
}

TEST(LintCommand, UsageExitsWithTwo) {
  EXPECT_EQ(RunProgram("tessera", {"lint"}).code, 2);
  EXPECT_EQ(RunProgram("tessera", {"lint", "--k8s", "1.20", "-"}).code, 2);
  EXPECT_EQ(RunProgram("tessera", {"lint", "-o", "xml", "-"}).code, 2);
  EXPECT_EQ(RunProgram("tessera", {"lint", "--slices", "-", "-"}).code, 2);
}

}  // namespace
}  // namespace tessera::tests
