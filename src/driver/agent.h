// driver/agent.h: the node plugin put together: what starts when, and in which order it ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "driver/excluded_devices.h"
#include "driver/health_files.h"
#include "driver/inventory_loop.h"
#include "kube/access.h"

namespace tessera::driver {

// What flags and environment decide. Paths are as this process sees them unless it says otherwise.
struct AgentOptions {
  std::string node_name;
  std::string instance;  // The pod's UID: sockets of its own, so that two versions can run side by side.
  kube::Access access;
  double kube_qps = 5;
  int kube_burst = 10;

  std::vector<DriverRoot> driver_roots;
  std::optional<std::filesystem::path> dev_root;
  std::filesystem::path sysfs = "/sys", procfs = "/proc";
  std::filesystem::path cdi_root = "/etc/cdi";
  std::filesystem::path registry = "/var/lib/kubelet/plugins_registry";
  std::filesystem::path plugins = "/var/lib/kubelet/plugins";
  std::filesystem::path pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string cdi_hook_path;  // As the host sees it. Empty: our own hook, copied into the plugin's directory.
  ExcludedDevices excluded;

  HealthFiles::Options health;
  std::chrono::milliseconds health_period{5'000};  // Between two readings of the vitals.

  std::string http_endpoint;  // Empty: none.
  std::string metrics_path = "/metrics";
  std::optional<std::uint16_t> healthcheck_port;
  bool keep_go_checkpoint = true;
  bool kep5322 = false;                          // Tell the kubelet which errors are permanent.
  std::chrono::milliseconds stop_grace{20'000};  // For running calls, below the 30 s that pods are given.
};

// Runs until `stop` is requested. An error means that it could not start at all: a directory that cannot be made, a port
// in use. Whatever else is missing (driver, API server, kubelet) is waited for.
Result<void> RunAgent(AgentOptions options, const std::stop_token& stop);

}  // namespace tessera::driver
