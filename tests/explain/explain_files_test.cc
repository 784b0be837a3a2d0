// What `tessera explain` says of situations in files (situations.h), and of files that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "json/value.h"
#include "tests/explain/big_cluster.h"
#include "tests/explain/situations.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace tessera::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class ExplainSituation : public testing::TestWithParam<std::string> {};

TEST_P(ExplainSituation, IsToldAsReviewed) {
  const std::string& name = GetParam();
  const Outcome result = RunProgram("tessera", CommandOf(name));
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(MatchesGolden(Format("{}exit {}\n", result.out, result.code), Format("explain/{}.txt", name)));
}

TEST_P(ExplainSituation, HasTheSameAnswerAsJson) {
  std::vector<std::string> arguments = CommandOf(GetParam());
  const Outcome text = RunProgram("tessera", arguments);
  arguments.insert(arguments.end(), {"-o", "json"});
  const Outcome result = RunProgram("tessera", arguments);
  const auto value = json::ParseJson(result.out);
  ASSERT_TRUE(value.has_value()) << result.out;
  EXPECT_EQ(result.code, text.code);
  EXPECT_EQ(value->at("fits").as_bool(), result.code == 0);
  for (const json::Value& change : value->at("changes").as_array()) {
    EXPECT_THAT(text.out, HasSubstr(std::string(change.at("node").as_string())));
  }
}

TEST(ExplainJson, HasTheReviewedForm) {
  std::vector<std::string> arguments = CommandOf("held");
  arguments.insert(arguments.end(), {"-o", "json"});
  EXPECT_TRUE(MatchesGolden(RunProgram("tessera", arguments).out, "explain/held.json"));
}

TEST(ExplainJson, EachPoolHasItsOwnFaultAndIsNamedOnce) {
  std::vector<std::string> arguments = CommandOf("pools-differ");
  arguments.insert(arguments.end(), {"-o", "json"});
  const auto value = json::ParseJson(RunProgram("tessera", arguments).out);
  ASSERT_TRUE(value.has_value());
  std::multimap<std::string, std::string> faults;
  for (const json::Value& group : value->at("groups").as_array()) {
    for (const json::Value& pool : group.at("pools").as_array()) {
      const auto text = [&](std::string_view key) { return std::string(pool.at(key).as_string()); };
      faults.emplace(Format("{}/{}/{}", group.at("nodes").at(0).as_string().c_str(), text("driver"), text("pool")),
                     Format("{}: {}", text("state"), text("reason")));
    }
  }
  const std::string one_of_two = "incomplete: 1 of 2 slices of generation 1 are here";
  const std::string twice = "invalid: duplicate device name gpu-0";
  EXPECT_THAT(faults,
              UnorderedElementsAre(
                  Pair("node-a/gpu.nvidia.com/node-a", one_of_two), Pair("node-a/gpu.nvidia.com/node-c", one_of_two),
                  Pair("node-a/nic.example.com/fabric", one_of_two), Pair("node-b/gpu.nvidia.com/node-b", twice),
                  Pair("node-b/gpu.nvidia.com/node-e", twice), Pair("node-b/nic.example.com/fabric", one_of_two),
                  Pair("node-d/gpu.nvidia.com/node-d", "incomplete: 1 of 3 slices of generation 1 are here"),
                  Pair("node-d/nic.example.com/fabric", one_of_two)));
}

INSTANTIATE_TEST_SUITE_P(Files, ExplainSituation, testing::ValuesIn(Situations()), [](const auto& given) {
  std::string name = given.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

class ExplainBigCluster : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(ReplaceFile(cluster_, BigCluster()).has_value()); }

  TempDir dir_ = TempDir::Create("explain").value();
  const std::string cluster_ = dir_.path() / "cluster.yaml";
};

TEST_F(ExplainBigCluster, FiveThousandDevicesFitOneScreen) {
  const Outcome result =
      RunProgram("tessera", {"explain", "claim", "-f", SituationFile("big-claim/claim.yaml"), "--slices", cluster_});
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.code, 1);
  EXPECT_LE(std::ranges::count(result.out, '\n'), 40);
  EXPECT_TRUE(MatchesGolden(result.out, "explain/big-claim/output.txt"));
}

TEST_F(ExplainBigCluster, JsonNamesEveryNodeAndTheReasonOfEveryDevice) {
  const Outcome result = RunProgram(
      "tessera", {"explain", "claim", "-f", SituationFile("big-claim/claim.yaml"), "--slices", cluster_, "-o", "json"});
  const auto value = json::ParseJson(result.out);
  ASSERT_TRUE(value.has_value()) << result.err;
  std::size_t nodes = 0, devices = 0;
  for (const json::Value& group : value->at("groups").as_array()) {
    const std::size_t alike = group.at("nodes").as_array().size();
    nodes += alike;
    const json::Value& request = group.at("requests").at(0);
    devices += alike * request.at("usable").to_number<std::size_t>();
    for (const json::Value& reason : request.at("reasons").as_array())
      devices += reason.at("devices").as_array().size();
  }
  EXPECT_EQ(nodes, 625U);
  EXPECT_EQ(devices, 5000U);
}

class ExplainMixedCluster : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(ReplaceFile(cluster_, MixedCluster()).has_value()); }

  Outcome Run(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"explain",  "claim", "-f", SituationFile("mixed-claim/claim.yaml"),
                                       "--slices", cluster_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram("tessera", arguments);
  }

  TempDir dir_ = TempDir::Create("explain").value();
  const std::string cluster_ = dir_.path() / "cluster.yaml";
};

TEST_F(ExplainMixedCluster, TwelveKindsOfNodesAndEightRequestsFitOneScreenWithTheSmallestChange) {
  const Outcome result = Run();
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.code, 1);
  EXPECT_LE(std::ranges::count(result.out, '\n'), 40);
  EXPECT_TRUE(MatchesGolden(result.out, "explain/mixed-claim/output.txt"));
}

TEST_F(ExplainMixedCluster, JsonHasWhatTheScreenLeavesOut) {
  const auto value = json::ParseJson(Run({"-o", "json"}).out);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->at("groups").as_array().size(), 12U);
  for (const json::Value& group : value->at("groups").as_array()) {
    EXPECT_EQ(group.at("nodes").as_array().size(), 5U);
    EXPECT_EQ(group.at("requests").as_array().size(), 8U);
  }
}

TEST(ExplainCommand, ReadsStandardInput) {
  const std::string command = Format("exec {}/bin/tessera explain claim -f - --slices {} < {}", TESSERA_BINARY_DIR,
                                     SituationFile("nodes.yaml"), SituationFile("fits.yaml"));
  const Outcome result = RunProgram("/bin/sh", {"-c", command});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("claim default/train fits on node-a"));
}

TEST(ExplainCommand, ANameIsNeededWhenThereAreSeveral) {
  const Outcome result = RunProgram(
      "tessera", {"explain", "claim", "-f", SituationFile("held.yaml"), "--slices", SituationFile("nodes.yaml")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("hold 3 ResourceClaims"), HasSubstr("next: ")));
}

TEST(ExplainCommand, AnUnknownNameGetsANearOne) {
  const Outcome result = RunProgram("tessera", {"explain", "claim", "trian", "-f", SituationFile("fits.yaml")});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("[NoSuchObject]"), HasSubstr("did you mean train?")));
}

TEST(ExplainCommand, ABadFileIsNamedWithItsLine) {
  const TempDir dir = TempDir::Create("explain").value();
  const std::string file = dir.path() / "bad.yaml";
  ASSERT_TRUE(ReplaceFile(file, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  nodeName: 5\n").has_value());
  const Outcome result = RunProgram("tessera", {"explain", "pod", "a", "-f", file});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr(file + ", document 1, line 6: Pod a: spec.nodeName: expected string, found 5"));
}

TEST(ExplainCommand, BadFlagsAreUsage) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"explain"},
                                             {"explain", "claim"},
                                             {"explain", "node", "a"},
                                             {"explain", "claim", "a", "--slices", "x.yaml"},
                                             {"explain", "claim", "a", "--release", "1.36"},
                                             {"explain", "claim", "a", "-f", "x.yaml", "--kubeconfig", "y"},
                                             {"explain", "claim", "a", "-o", "xml"},
                                             {"explain", "claim", "a", "-f", "/nonexistent.yaml"}}) {
    EXPECT_EQ(RunProgram("tessera", arguments).code, 2) << Join(arguments, " ");
  }
}

TEST(ExplainCommand, HelpSaysTheExitCodes) {
  const Outcome result = RunProgram("tessera", {"explain", "--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("--slices"), HasSubstr("3 no cluster"), Not(HasSubstr("{"))));
}

}  // namespace
}  // namespace tessera::tests
