// tests/lint/case_file.h: manifests with what lint must say about them, beside the lines it must say it about.
//
//   # lint: k8s=1.35 slices=dgx-h100
//   - name: GPU  # error BadName: no DNS label
//   # below: warning NoMatch: matches none
//   - cel: {expression: …}
//
// A comment speaks of its own line, one with `below:` of the next that is no comment. Of the message, advice and line
// to paste it names a part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lint/lint.h"

namespace tessera::tests {

struct Expected {
  std::size_t line = 0;
  std::string severity, code, part;
};

struct LintCase {
  std::string release = "1.37";
  std::string slices;  // A file of tests/testdata/slices, without its ending.
  std::vector<Expected> expected;
};

LintCase ParseLintCase(std::string_view text);

// Lints the text as the case says.
lint::Report RunLintCase(const LintCase& one, std::string_view text);

// What is expected and missing, and what is found and not expected; empty when all is as it should be.
std::vector<std::string> Differences(const LintCase& one, const lint::Report& report);

}  // namespace tessera::tests
