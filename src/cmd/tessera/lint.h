// cmd/tessera/lint.h: `tessera lint`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tessera::cmd {

struct LintOptions {
  std::vector<std::string> files;  // "-" is standard input; of a directory, what kubectl would apply of it.
  std::string release = "1.37";
  std::string slices;  // A file, or "-"; empty: no devices are known.
  bool as_json = false;
};

// The command's flags and help.
void AddLint(CLI::App& app, LintOptions& options);

// Runs the command and returns its exit code.
int RunLint(const LintOptions& options);

}  // namespace tessera::cmd
