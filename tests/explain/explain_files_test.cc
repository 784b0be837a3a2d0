// What `tessera explain` says of situations that people write down: tests/testdata/explain/*.yaml. The first line of
// each is the command; the .txt beside it is what the command prints, and its exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "json/value.h"
#include "tests/cli/program.h"
#include "tests/explain/big_cluster.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const fs::path kFolder = fs::path(TESSERA_SOURCE_DIR) / "tests/testdata/explain";

std::string File(const std::string& name) { return (kFolder / name).string(); }

std::vector<std::string> Situations() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml" && entry.path().stem() != "nodes") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

// "# tessera explain claim a -f x.yaml" as arguments, with files by their full names.
std::vector<std::string> ArgumentsOf(const std::string& name) {
  const std::string text = ReadFile(File(name + ".yaml")).value();
  std::vector<std::string> arguments;
  for (const std::string_view word : Split(std::string_view(text).substr(0, text.find('\n')), ' ')) {
    arguments.emplace_back(word.ends_with(".yaml") ? File(std::string(word)) : std::string(word));
  }
  arguments.erase(arguments.begin(), arguments.begin() + 2);  // "# tessera"
  return arguments;
}

class ExplainSituation : public testing::TestWithParam<std::string> {};

TEST_P(ExplainSituation, IsToldAsReviewed) {
  const std::string& name = GetParam();
  const Outcome result = RunProgram("tessera", ArgumentsOf(name));
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(MatchesGolden(Format("{}exit {}\n", result.out, result.code), Format("explain/{}.txt", name)));
}

TEST_P(ExplainSituation, HasTheSameAnswerAsJson) {
  std::vector<std::string> arguments = ArgumentsOf(GetParam());
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
      RunProgram("tessera", {"explain", "claim", "-f", File("big-claim/claim.yaml"), "--slices", cluster_});
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.code, 1);
  EXPECT_LE(std::ranges::count(result.out, '\n'), 40);
  EXPECT_TRUE(MatchesGolden(result.out, "explain/big-claim/output.txt"));
}

TEST_F(ExplainBigCluster, JsonNamesEveryNode) {
  const Outcome result = RunProgram(
      "tessera", {"explain", "claim", "-f", File("big-claim/claim.yaml"), "--slices", cluster_, "-o", "json"});
  const auto value = json::ParseJson(result.out);
  ASSERT_TRUE(value.has_value()) << result.err;
  std::size_t nodes = 0;
  for (const json::Value& group : value->at("groups").as_array()) nodes += group.at("nodes").as_array().size();
  EXPECT_EQ(nodes, 625U);
}

TEST(ExplainCommand, ReadsStandardInput) {
  const std::string command = Format("exec {}/bin/tessera explain claim -f - --slices {} < {}", TESSERA_BINARY_DIR,
                                     File("nodes.yaml"), File("fits.yaml"));
  const Outcome result = RunProgram("/bin/sh", {"-c", command});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("claim default/train fits on node-a"));
}

TEST(ExplainCommand, ANameIsNeededWhenThereAreSeveral) {
  const Outcome result =
      RunProgram("tessera", {"explain", "claim", "-f", File("held.yaml"), "--slices", File("nodes.yaml")});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("hold 3 ResourceClaims"), HasSubstr("next: ")));
}

TEST(ExplainCommand, AnUnknownNameGetsANearOne) {
  const Outcome result = RunProgram("tessera", {"explain", "claim", "trian", "-f", File("fits.yaml")});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("[NoSuchObject]"), HasSubstr("Did you mean train?")));
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
