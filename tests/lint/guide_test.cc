// What a guide prints and the API refuses: each line that lint says to paste, pasted, makes the manifest clean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/text.h"
#include "tests/lint/case_file.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

using ::testing::IsEmpty;

// The text with each line to paste in the place of the one it is about, as deep as that one was.
std::string Pasted(std::string_view text, const lint::Report& report) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) lines.emplace_back(line);
  for (const lint::Finding& finding : report.findings) {
    if (finding.fix.empty()) continue;
    std::string& line = lines.at(finding.origin.line - 1);
    line = line.substr(0, line.find_first_not_of(' ')) + finding.fix;
  }
  return Join(lines, "\n");
}

TEST(Guide, EachPrintedSelectorThatIsRefusedHasALineToPasteThatIsClean) {
  const std::string text = ReadFile(TESSERA_SOURCE_DIR "/tests/lint/cases/guide_as_printed.yaml").value();
  const LintCase one = ParseLintCase(text);
  const lint::Report printed = RunLintCase(one, text);
  ASSERT_EQ(printed.findings.size(), 4U) << "the guide has four selectors that do not compile";
  for (const lint::Finding& finding : printed.findings) EXPECT_NE(finding.fix, "") << finding.message;
  const lint::Report corrected = RunLintCase(one, Pasted(text, printed));
  EXPECT_EQ(corrected.checked, printed.checked);
  std::vector<std::string> left;
  for (const lint::Finding& finding : corrected.findings) left.push_back(finding.message);
  EXPECT_THAT(left, IsEmpty());
}

}  // namespace
}  // namespace tessera::tests
