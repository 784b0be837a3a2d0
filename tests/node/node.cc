#include "tests/node/node.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "driver/slice_plan.h"
#include "tests/support/paths.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere.

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
using driver::TextAt;

constexpr std::chrono::milliseconds kPoll{5};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The tests' own environment, without what would steer the plugin; what `extra` names is replaced.
std::vector<std::string> Environment(const std::map<std::string, std::string>& extra) {
  std::vector<std::string> environment;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const std::string name(entry.substr(0, entry.find('=')));
    if (name.starts_with("KUBE") || name.starts_with("NVIDIA") || extra.contains(name)) continue;
    environment.emplace_back(entry);
  }
  for (const auto& [name, value] : extra) environment.push_back(name + "=" + value);
  return environment;
}

std::size_t CountDevices(const std::vector<json::Value>& slices) {
  std::size_t count = 0;
  for (const json::Value& slice : slices) {
    if (const json::Value* devices = slice.at("spec").as_object().if_contains("devices"))
      count += devices->as_array().size();
  }
  return count;
}

Kubelet::Answer WhenRegistered(const std::function<Kubelet::Answer()>& call) {
  Kubelet::Answer answer;
  Eventually(
      [&] {
        answer = call();
        return !answer.error.contains("is not registered");
      },
      std::chrono::seconds(5));
  return answer;
}

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

bool Eventually(const std::function<bool()>& holds, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

Plugin::Plugin(std::vector<std::string> arguments, std::map<std::string, std::string> environment, fs::path log)
    : log_(std::move(log)) {
  arguments.insert(arguments.begin(), TESSERA_BINARY_DIR "/bin/tessera-kubelet-plugin");
  std::vector<std::string> variables = Environment(environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int error = ::posix_spawn(&pid_, arguments.front().c_str(), &actions, nullptr, Pointers(arguments).data(),
                                  Pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Abort("cannot start " + arguments.front());
}

Plugin::~Plugin() {
  if (status_ == -1) {
    Signal(SIGKILL);
    Wait();
  }
  // Whatever the test looks at: an instrumented plugin that found a fault of its own fails it.
  const std::string log = Log();
  if (log.contains("Sanitizer: ") || log.contains(": runtime error: ")) ADD_FAILURE() << log;
}

void Plugin::Signal(int signal) { ::kill(pid_, signal); }

bool Plugin::WaitFor(std::chrono::milliseconds timeout) {
  return Eventually(
      [this] {
        int raw = 0;
        if (status_ != -1) return true;
        if (::waitpid(pid_, &raw, WNOHANG) != pid_) return false;
        status_ = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
        return true;
      },
      timeout);
}

int Plugin::Wait() {
  if (!WaitFor(std::chrono::minutes(1))) {
    Signal(SIGKILL);
    WaitFor(std::chrono::minutes(1));
  }
  return status_;
}

std::string Plugin::Log() const { return ReadFile(log_).value_or(""); }

bool Plugin::WaitForLog(const std::string& text, std::chrono::milliseconds timeout) const {
  return Eventually([&] { return Log().contains(text); }, timeout);
}

Node::Node(NodeOptions options) : options_(std::move(options)), dir_(TempDir::Create("node").value()) {
  for (const char* folder : {"kubelet/plugins", "kubelet/plugins_registry", "kubelet/pod-resources", "cdi", "empty"}) {
    fs::create_directories(dir() / folder);
  }
  gpus_ = std::make_unique<SimRoot>(options_.profile);
  api_ = standin::ApiServer::Start({.versions = options_.versions}).value();
  api_->MakeNode(kNodeName);
  api_->WriteKubeconfig(dir() / "kubeconfig").value();
  if (!options_.with_kubelet) return;
  kubelet_ = std::make_unique<Kubelet>(Kubelet::Options{
      .registry = registry(),
      .release = options_.release,
      .pod_resources = pod_resources(),
      .on_wipe = [this](const std::string& driver) {
        const std::string selector = "spec.nodeName=" + kNodeName;
        (void)api_->DeleteCollection(kSlicesPath, driver.empty() ? selector : selector + ",spec.driver=" + driver);
      }});
}

Node::~Node() = default;

fs::path Node::driver_root() const { return options_.with_driver ? gpus_->path() : dir() / "empty"; }

std::unique_ptr<Plugin> Node::Start(std::vector<std::string> extra, std::map<std::string, std::string> environment) {
  std::vector<std::string> arguments{"--node-name=" + kNodeName,
                                     "--kubeconfig=" + (dir() / "kubeconfig").string(),
                                     "--nvidia-driver-root=" + driver_root().string(),
                                     "--container-driver-root=" + driver_root().string(),
                                     "--sysfs-root=" + (driver_root() / "sys").string(),
                                     "--cdi-root=" + cdi_dir().string(),
                                     "--kubelet-registrar-directory-path=" + registry().string(),
                                     "--kubelet-plugins-directory-path=" + (dir() / "kubelet/plugins").string(),
                                     "--v=4"};
  if (!environment.contains("PROCFS_ROOT")) arguments.push_back("--procfs-root=" + (driver_root() / "proc").string());
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return std::make_unique<Plugin>(std::move(arguments), std::move(environment),
                                  dir() / Format("plugin-{}.log", ++plugins_));
}

std::unique_ptr<Plugin> Node::StartReady(std::vector<std::string> extra,
                                         std::map<std::string, std::string> environment) {
  auto plugin = Start(std::move(extra), std::move(environment));
  if (!WaitRegistered() || !WaitPublished(1)) Abort("the plugin did not come up:\n" + plugin->Log());
  return plugin;
}

bool Node::WaitRegistered(std::size_t instances) const {
  return kubelet().WaitForInstances(kDriver, instances, kPatience);
}

bool Node::WaitPublished(std::size_t devices) const {
  return api_->WaitObjects(
      kSlicesPath, [&](const auto& slices) { return CountDevices(slices) >= devices && !slices.empty(); }, kPatience);
}

std::size_t Node::PublishedDevices() const { return CountDevices(api_->List(kSlicesPath)); }

Kubelet::Claim Node::MakeClaim(const std::string& name, const std::vector<std::string>& devices) {
  standin::ClaimOptions options{.name = name, .pod = "pod-" + name, .node = kNodeName};
  for (const std::string& device : devices) options.devices.push_back({.pool = kNodeName, .device = device});
  return MakeClaim(std::move(options));
}

Kubelet::Claim Node::MakeClaim(standin::ClaimOptions options) {
  const json::Value claim = api_->MakeClaim(options);
  return {TextAt(claim, {"metadata", "namespace"}), TextAt(claim, {"metadata", "name"}),
          TextAt(claim, {"metadata", "uid"})};
}

Kubelet::Answer Node::Prepare(const Kubelet::Claim& claim) {
  return WhenRegistered([&] { return kubelet().Prepare(kDriver, {claim}); });
}

Kubelet::Answer Node::Unprepare(const Kubelet::Claim& claim) {
  return WhenRegistered([&] { return kubelet().Unprepare(kDriver, {claim}); });
}

void Node::DeleteClaim(const Kubelet::Claim& claim) {
  api_->Delete(Format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}", claim.namespace_name, claim.name))
      .value();
}

fs::path Node::claim_file(const Kubelet::Claim& claim) const {
  return cdi_dir() / Format("k8s.gpu.nvidia.com-claim_{}.yaml", claim.uid);
}

std::vector<std::string> Node::CdiFiles() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(cdi_dir())) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> Node::EventReasons(const std::string& object) const {
  std::vector<std::string> reasons;
  for (const char* path : {"/api/v1/namespaces/default/events"}) {
    for (const json::Value& event : api_->List(path)) {
      if (TextAt(event, {"involvedObject", "name"}) == object) reasons.push_back(TextAt(event, {"reason"}));
    }
  }
  return reasons;
}

bool Node::WaitForEvent(const std::string& object, const std::string& reason) const {
  return Eventually([&] {
    const auto reasons = EventReasons(object);
    return std::ranges::find(reasons, reason) != reasons.end();
  });
}

std::string Node::HttpGet(std::uint16_t port, const std::string& path) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  if (!WriteAll(fd.get(), Format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path))) return {};
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(got));
  const auto head = Cut(answer, "\r\n\r\n");
  if (!head || head->first.size() < 12) return {};
  return Format("{} {}", head->first.substr(9, 3), head->second);
}

}  // namespace tessera::tests
