// cmd/tessera/explain.h: `tessera explain`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "inspect/explain_subject.h"

namespace tessera::cmd {

struct ExplainOptions {
  inspect::Target target;
  std::vector<std::string> files;   // -f: the claim or pod, and anything else.
  std::vector<std::string> others;  // --slices, --claims, --nodes, --classes.
  std::string release = "1.37";     // For files.
  std::string kubeconfig, context;
  bool json = false;
};

// The command's flags and help.
void AddExplain(CLI::App& app, ExplainOptions& options);

// Runs the command and returns its exit code.
int RunExplain(const ExplainOptions& options);

}  // namespace tessera::cmd
