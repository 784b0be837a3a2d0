#include "bench/health_node.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>

#include "base/text.h"
#include "net/http_client.h"
#include "nvml/abi.h"
#include "tests/standin/free_port.h"
#include "tests/support/must.h"

namespace tessera::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using tests::Must;

// By default a fault keeps its device away for a minute or more after it is over, so that nothing flaps. Here the next
// reading that finds nothing ends it, so that every GPU can fall ill again and again.
constexpr std::string_view kQuickRecovery = R"(
version: 1
xids:
  48: {hold: 0s}
  79: {hold: 0s}
reasons:
  EccUncorrected: {quiet: 1s, hold: 0s}
  RecoveryAction: {hold: 0s}
)";

PluginOptions WithHealth(PluginOptions options, const std::filesystem::path& dir, std::uint16_t port) {
  const auto policy = dir / "policy.yaml";
  Must(ReplaceFile(policy, kQuickRecovery));
  options.flags.push_back("--health-policy-file=" + policy.string());
  options.flags.push_back(Format("--health-period={}s", kHealthPeriod.count()));
  options.flags.push_back(Format("--http-endpoint=127.0.0.1:{}", port));
  return options;
}

// "gpu-3" is a GPU's name, "gpu-3-mig-…" that of an instance on it.
std::vector<std::string> DevicesOf(unsigned minor, const std::vector<std::string>& all) {
  const std::string name = Format("gpu-{}", minor);
  std::vector<std::string> devices;
  std::ranges::copy_if(all, std::back_inserter(devices),
                       [&](const std::string& device) { return device == name || device.starts_with(name + "-"); });
  return devices;
}

// Longer than the watcher gathers events for: signals come alone.
constexpr milliseconds kApart{150};

milliseconds Pause(milliseconds spread) {
  static std::mt19937 random{6};
  return kApart + milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, spread.count())(random));
}

}  // namespace

HealthNode::HealthNode(PluginOptions options)
    : dir_(Must(TempDir::Create("bench"))),
      port_(standin::FreePort()),
      store_(Must(sim::Store::Open(options.driver_root))),
      plugin_(std::make_unique<PluginNode>(WithHealth(std::move(options), dir_.path(), port_))) {
  plugin_->Start();
  stream_ = std::make_unique<HealthStream>(plugin_->socket());
  stream_->WaitFor(plugin_->devices(), v1::HEALTHY);
  const auto machine = Must(store_->Read());
  for (const sim::Gpu& gpu : machine->gpus) {
    gpus_.push_back({.minor = gpu.minor, .devices = DevicesOf(gpu.minor, plugin_->devices())});
    if (gpus_.back().devices.empty()) Abort(Format("GPU {} has no devices", gpu.minor));
  }
}

steady_clock::duration HealthNode::Measure(const Signal& signal, std::size_t gpu) {
  const std::vector<std::string>& devices = gpus_.at(gpu).devices;
  stream_->WaitFor(devices, v1::HEALTHY);
  std::this_thread::sleep_for(Pause(signal.spread));
  const auto start = steady_clock::now();
  signal.play(*this, gpu);
  const auto told = stream_->WaitFor(devices, v1::UNHEALTHY);
  signal.heal(*this, gpu);
  return told - start;
}

void HealthNode::Change(std::size_t gpu, const std::function<void(sim::Gpu&)>& change) {
  Must(store_->Update([&](sim::Machine& machine) -> Result<void> {
    change(machine.gpus.at(gpu));
    return {};
  }));
}

void HealthNode::Xid(std::size_t gpu, std::uint64_t code) {
  Must(store_->Emit({.minor = gpus_.at(gpu).minor, .type = nvml::abi::kEventXidCritical, .data = code}));
}

double HealthNode::SeenXids() const {
  const auto client = Must(net::HttpClient::Create({.endpoint = {.host = "127.0.0.1", .port = port_, .tls = false}}));
  const auto answer = Must(client->Exchange({.target = "/metrics"}, steady_clock::now() + std::chrono::seconds(10)));
  double seen = 0;
  for (const std::string_view line : Split(answer.body, '\n')) {
    if (!line.starts_with("tessera_xids_total{")) continue;
    seen += std::strtod(std::string(line.substr(line.rfind(' ') + 1)).c_str(), nullptr);
  }
  return seen;
}

}  // namespace tessera::bench
