// cmd/tessera/devices.h: `tessera devices`.
#pragma once

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
  std::string plugin_dir = "/var/lib/kubelet/plugins/gpu.nvidia.com";  // The kubelet plugin's own.
};

// Runs the command and returns its exit code.
int RunDevices(DevicesOptions options);

}  // namespace tessera::cmd
