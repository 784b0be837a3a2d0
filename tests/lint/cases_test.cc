// Every rule, as data: tests/lint/cases. And no rule without a case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "tests/lint/case_file.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

std::vector<fs::path> FilesBelow(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(TESSERA_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

TEST(LintCases, FindWhatTheyExpectAndNothingElse) {
  const auto files = FilesBelow("tests/lint/cases", ".yaml");
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    const std::string text = ReadFile(file).value();
    const LintCase one = ParseLintCase(text);
    EXPECT_THAT(Differences(one, RunLintCase(one, text)), IsEmpty());
  }
}

bool IsCode(std::string_view text) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  return text.size() > 4 && is_upper(text.front()) && std::ranges::all_of(text, is_letter) &&
         std::ranges::count_if(text, is_upper) > 1;
}

// The codes that src/lint passes to Error(), Warn() and Note().
std::set<std::string> CodesOfTheRules() {
  std::set<std::string> codes;
  for (const fs::path& file : FilesBelow("src/lint", ".cc")) {
    if (file.filename().string().ends_with("_test.cc")) continue;
    const std::string text = ReadFile(file).value();
    for (std::size_t at = text.find("context."); at != std::string::npos; at = text.find("context.", at + 1)) {
      const std::string_view call = std::string_view(text).substr(at + 8, 120);
      if (!call.starts_with("Error(") && !call.starts_with("Warn(") && !call.starts_with("Note(")) continue;
      for (auto literal = Cut(call, "\""); literal; literal = Cut(literal->second, "\"")) {
        const auto code = Cut(literal->second, "\"");
        if (!code) break;
        if (IsCode(code->first)) codes.emplace(code->first);
        literal = code;
      }
    }
  }
  return codes;
}

TEST(LintCases, CoverEveryCodeAndThePageListsIt) {
  std::set<std::string> expected;
  for (const fs::path& file : FilesBelow("tests/lint/cases", ".yaml")) {
    for (const Expected& one : ParseLintCase(ReadFile(file).value()).expected) expected.insert(one.code);
  }
  const std::string page = ReadFile(fs::path(TESSERA_SOURCE_DIR) / "docs/lint.md").value();
  const auto codes = CodesOfTheRules();
  EXPECT_TRUE(codes.contains("UnknownField")) << "the search itself must find something";
  for (const std::string& code : codes) {
    EXPECT_TRUE(expected.contains(code)) << code << " has no case";
    EXPECT_TRUE(page.contains(Format("`{}`", code))) << code << " is not in docs/lint.md";
  }
}

}  // namespace
}  // namespace tessera::tests
