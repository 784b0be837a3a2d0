// cmd/tessera/run.h: `tessera run`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "local/runtime.h"

namespace tessera::cmd {

inline constexpr int kExitOurs = 125;  // `run` alone: ours and not the command's, as container programs have it.

struct RunOptions {
  std::vector<std::string> files, class_files;
  std::string simulate;                 // A profile; empty: the real machine.
  std::string driver_root, sysfs_root;  // Empty: where they usually are.
  std::string state_dir, cdi_dir;       // Empty: see local/places.h.
  std::string machine_leases = "/dev/shm/tessera-devices";
  std::string node_name;
  std::string runtime = "auto", image;
  std::vector<std::string> runtime_options;
  std::vector<std::string> command;
  int timeout_seconds = 60;
};

// The command's flags and help.
CLI::App* AddRun(CLI::App& app, RunOptions& options);

// Runs the command and returns its exit code, or kExitOurs.
int RunRun(RunOptions options);

}  // namespace tessera::cmd
