// tests/standin/node_setup.h: what surrounds the plugin of one node, below one directory: an API server, a kubelet, and
// the folders they share with it. For the benchmarks and the demo; tests have tests/node.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/standin/api_server.h"
#include "tests/standin/kubelet.h"

namespace tessera::standin {

inline constexpr const char* kDriverName = "gpu.nvidia.com";

struct NodeOptions {
  std::filesystem::path dir;           // Must exist. Short: the names of sockets have a limit.
  std::filesystem::path cdi_dir = {};  // dir/cdi when empty. Real nodes have it on a tmpfs.
  std::string name = "node-a";
  std::vector<std::string> versions{"v1"};  // Of resource.k8s.io.
};

class NodeSetup {
 public:
  static Result<std::unique_ptr<NodeSetup>> Make(NodeOptions options);

  // The flags that bring a plugin to this node and to the driver below `driver_root`.
  std::vector<std::string> PluginFlags(const std::filesystem::path& driver_root) const;

  bool WaitRegistered(std::chrono::milliseconds timeout) const;
  bool WaitPublished(std::chrono::milliseconds timeout);
  void WipeSlices();  // As a kubelet does that starts.

  // An allocated claim, as the scheduler leaves it, and as the kubelet knows it.
  tests::Kubelet::Claim MakeClaim(const std::string& name, const std::vector<std::string>& devices, bool admin_access);
  Result<void> DeleteClaim(const tests::Kubelet::Claim& claim);
  static std::string ClaimPath(const tests::Kubelet::Claim& claim);

  ApiServer& api() { return *api_; }
  tests::Kubelet& kubelet() { return *kubelet_; }
  std::filesystem::path kubeconfig() const { return options_.dir / "kubeconfig"; }
  std::filesystem::path cdi_dir() const { return options_.cdi_dir.empty() ? options_.dir / "cdi" : options_.cdi_dir; }
  std::filesystem::path plugin_dir() const { return options_.dir / "plugins" / kDriverName; }

 private:
  explicit NodeSetup(NodeOptions options) : options_(std::move(options)) {}

  const NodeOptions options_;
  std::unique_ptr<ApiServer> api_;
  std::unique_ptr<tests::Kubelet> kubelet_;  // After the server, whose slices it wipes.
};

}  // namespace tessera::standin
