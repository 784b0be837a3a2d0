// bench/plugin_node.h: the node plugin's own program on a node of stand-ins, under measurement.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "bench/callers.h"
#include "bench/process.h"
#include "tests/standin/node_setup.h"

namespace tessera::bench {

struct PluginOptions {
  std::filesystem::path program, driver_root;
  std::filesystem::path cdi_dir;   // Empty: beside everything else.
  std::vector<std::string> flags;  // Further ones for the plugin.
};

// Ends the program when something fails: a measurement needs all of it.
class PluginNode {
 public:
  explicit PluginNode(PluginOptions options);

  // From exec() until the API server has the slice, and until the kubelet has the plugin registered.
  struct StartTimes {
    std::chrono::steady_clock::duration published, registered;
  };
  StartTimes Start();
  void Stop();  // With SIGTERM; the claims stay.

  std::vector<Caller> Connect(std::size_t callers) const;
  // Claims that nobody has prepared yet, on the node's devices in turn.
  std::vector<tests::Kubelet::Claim> MakeClaims(std::size_t count, bool admin_access);
  void DeleteClaims(const std::vector<tests::Kubelet::Claim>& claims);

  const std::vector<std::string>& devices() const { return devices_; }  // As published, sorted.
  const std::filesystem::path& socket() const { return socket_; }
  standin::NodeSetup& setup() { return *setup_; }
  pid_t pid() const { return plugin_->pid(); }

 private:
  const PluginOptions options_;
  const TempDir dir_;
  std::unique_ptr<standin::NodeSetup> setup_;
  std::optional<Process> plugin_;
  std::filesystem::path socket_;
  std::vector<std::string> devices_;
  std::size_t made_ = 0;
};

}  // namespace tessera::bench
