// cmd/tessera/devices.h: `tessera devices`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "inspect/devices_view.h"

namespace tessera::cmd {

struct DevicesOptions {
  inspect::DevicesView view;
  std::string driver_root;  // Empty: look where drivers usually are.
  std::string sysfs_root = "/sys";
  std::string simulate;        // A profile; empty: the real machine.
  std::string record, replay;  // Files; empty: neither.
  int timeout_seconds = 60;
  bool history = false;  // How the devices of finished claims were, instead of those that are there.
  // The kubelet plugin's own directory. Not looked at for a machine that is not this one, unless it is named.
  std::optional<std::string> plugin_dir;
  std::string verdicts_dir;  // The plugin's --health-verdicts-dir; empty: none.
};

// The command's flags and help.
void AddDevices(CLI::App& app, DevicesOptions& options);

// Runs the command and returns its exit code.
int RunDevices(DevicesOptions options);

}  // namespace tessera::cmd
