// docs/explain.md shows what the command really prints: each of its screens is the reviewed output of a situation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;

// By command, "tessera explain claim …": what it prints, without the exit code.
std::map<std::string, std::string> ReviewedOutputs() {
  std::map<std::string, std::string> outputs;
  for (const auto& entry : fs::directory_iterator(fs::path(TESSERA_SOURCE_DIR) / "tests/testdata/explain")) {
    if (entry.path().extension() != ".txt") continue;
    fs::path situation = entry.path();
    const std::string yaml = ReadFile(situation.replace_extension(".yaml")).value();
    const std::string command = yaml.substr(2, yaml.find('\n') - 2);
    const std::string text = ReadFile(entry.path()).value();
    outputs.emplace(command, text.substr(0, text.rfind("exit ")));
  }
  return outputs;
}

TEST(ExplainPage, ShowsRealScreens) {
  const std::string page = ReadFile(fs::path(TESSERA_SOURCE_DIR) / "docs/explain.md").value();
  const auto outputs = ReviewedOutputs();
  constexpr std::string_view kStart = "```\n$ ";
  std::size_t screens = 0;
  std::string_view rest = page;
  while (const auto found = Cut(rest, kStart)) {
    const auto screen = Cut(found->second, "```");
    ASSERT_TRUE(screen.has_value());
    rest = screen->second;
    const auto command = Cut(screen->first, "\n");
    ASSERT_TRUE(command.has_value());
    if (!command->first.starts_with("tessera explain")) continue;
    const auto output = outputs.find(std::string(command->first));
    ASSERT_NE(output, outputs.end()) << "no situation has the command " << command->first;
    EXPECT_EQ(command->second, output->second) << command->first;
    ++screens;
  }
  EXPECT_GE(screens, 4U);
}

}  // namespace
}  // namespace tessera::tests
