// tests/node/node.h: a whole node for one test: simulated GPUs, an API server, a kubelet, and the plugin's own binary.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "tests/standin/api_server.h"
#include "tests/standin/free_port.h"
#include "tests/standin/kubelet.h"
#include "tests/support/sim_root.h"

namespace tessera::tests {

inline constexpr std::chrono::seconds kPatience{30};  // For what must happen; nothing waits for it in vain.
inline const std::string kDriver = "gpu.nvidia.com";
inline const std::string kNodeName = "node-a";
inline const std::string kSlicesPath = "/apis/resource.k8s.io/v1/resourceslices";
// In the environment of a plugin that a library is preloaded into: ASan's runtime insists on being first.
inline const std::pair<const std::string, std::string> kAllowPreload{
    "ASAN_OPTIONS", "verify_asan_link_order=0:detect_stack_use_after_return=1"};

// Whether `holds` comes true in time; asked again and again.
bool Eventually(const std::function<bool()>& holds, std::chrono::milliseconds timeout = kPatience);

// The plugin as a child process. Killed with SIGKILL when it goes out of scope.
class Plugin {
 public:
  Plugin(std::vector<std::string> arguments, std::map<std::string, std::string> environment, std::filesystem::path log);
  ~Plugin();
  Plugin(Plugin&&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal);
  int Wait();                                       // Its exit status; 128 + signal when one ended it.
  bool WaitFor(std::chrono::milliseconds timeout);  // Whether it ended.
  std::string Log() const;
  bool WaitForLog(const std::string& text, std::chrono::milliseconds timeout = kPatience) const;

 private:
  pid_t pid_ = -1;
  int status_ = -1;
  std::filesystem::path log_;
};

struct NodeOptions {
  std::string profile = "dgx-h100";
  Kubelet::Release release = Kubelet::Release::k1_37;
  std::vector<std::string> versions{"v1"};  // Of resource.k8s.io.
  bool with_driver = true;                  // False: an empty driver root.
  bool with_kubelet = true;
};

class Node {
 public:
  explicit Node(NodeOptions options = {});
  ~Node();

  // Starts the plugin with the node's paths; `extra` is added, `environment` too. Ports and instances are the caller's.
  std::unique_ptr<Plugin> Start(std::vector<std::string> extra = {},
                                std::map<std::string, std::string> environment = {});
  // Start(), and until the kubelet has it registered and the slices are there.
  std::unique_ptr<Plugin> StartReady(std::vector<std::string> extra = {},
                                     std::map<std::string, std::string> environment = {});
  bool WaitRegistered(std::size_t instances = 1) const;
  bool WaitPublished(std::size_t devices) const;
  std::size_t PublishedDevices() const;

  // An allocated claim at the API server, and what the kubelet knows of it.
  Kubelet::Claim MakeClaim(const std::string& name, const std::vector<std::string>& devices);
  Kubelet::Claim MakeClaim(standin::ClaimOptions options);
  void DeleteClaim(const Kubelet::Claim& claim);
  // While a plugin is just being registered again, they are tried again, as a kubelet does.
  Kubelet::Answer Prepare(const Kubelet::Claim& claim);
  Kubelet::Answer Unprepare(const Kubelet::Claim& claim);

  standin::ApiServer& api() { return *api_; }
  const standin::ApiServer& api() const { return *api_; }
  Kubelet& kubelet() { return *kubelet_; }
  const Kubelet& kubelet() const { return *kubelet_; }
  SimRoot& gpus() { return *gpus_; }

  const std::filesystem::path& dir() const { return dir_.path(); }
  std::filesystem::path plugin_dir() const { return dir() / "kubelet/plugins" / kDriver; }
  std::filesystem::path registry() const { return dir() / "kubelet/plugins_registry"; }
  std::filesystem::path cdi_dir() const { return dir() / "cdi"; }
  std::filesystem::path pod_resources() const { return dir() / "kubelet/pod-resources/kubelet.sock"; }
  std::filesystem::path claim_file(const Kubelet::Claim& claim) const;
  std::filesystem::path driver_root() const;
  std::vector<std::string> CdiFiles() const;  // Names, sorted.

  // Reasons of Events about this object, as stored at the API server.
  std::vector<std::string> EventReasons(const std::string& object) const;
  bool WaitForEvent(const std::string& object, const std::string& reason) const;

  // A GET to the plugin's HTTP endpoint: "200 body". Empty when nobody answers.
  static std::string HttpGet(std::uint16_t port, const std::string& path);
  static std::uint16_t FreePort() { return standin::FreePort(); }

 private:
  const NodeOptions options_;
  TempDir dir_;
  std::unique_ptr<SimRoot> gpus_;
  std::unique_ptr<standin::ApiServer> api_;
  std::unique_ptr<Kubelet> kubelet_;
  int plugins_ = 0;
};

}  // namespace tessera::tests
