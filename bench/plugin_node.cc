#include "bench/plugin_node.h"

#include <algorithm>
#include <future>

#include "base/text.h"
#include "tests/support/must.h"

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;
using tests::Kubelet;
using tests::Must;

constexpr std::chrono::seconds kPatience{30};

std::vector<std::string> DeviceNames(standin::ApiServer& api) {
  std::vector<std::string> names;
  for (const json::Value& slice : api.List("/apis/resource.k8s.io/v1/resourceslices")) {
    for (const json::Value& device : slice.at("spec").at("devices").as_array()) {
      names.emplace_back(device.at("name").as_string());
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

PluginNode::PluginNode(PluginOptions options)
    : options_(std::move(options)),
      dir_(Must(TempDir::Create("bench"))),
      setup_(Must(standin::NodeSetup::Make({.dir = dir_.path(), .cdi_dir = options_.cdi_dir}))) {}

PluginNode::StartTimes PluginNode::Start() {
  setup_->WipeSlices();
  std::vector<std::string> command = setup_->PluginFlags(options_.driver_root);
  command.insert(command.begin(), options_.program.string());
  command.insert(command.end(), options_.flags.begin(), options_.flags.end());
  StartTimes times;
  const auto start = steady_clock::now();
  plugin_.emplace(Must(Process::Start(std::move(command), dir_.path() / "plugin.log")));
  auto published = std::async(std::launch::async, [&] {
    const bool there = setup_->WaitPublished(kPatience);
    times.published = steady_clock::now() - start;
    return there;
  });
  const bool registered = setup_->WaitRegistered(kPatience);
  times.registered = steady_clock::now() - start;
  if (!published.get() || !registered) {
    Abort("the plugin did not come up:\n" + ReadFile(dir_.path() / "plugin.log").value_or(""));
  }
  socket_ = setup_->kubelet().Instances(standin::kDriverName).front().endpoint;
  devices_ = DeviceNames(setup_->api());
  return times;
}

void PluginNode::Stop() {
  plugin_->Terminate();
  plugin_.reset();
  if (!setup_->kubelet().WaitForInstances(standin::kDriverName, 0, kPatience)) Abort("the plugin is still registered");
}

std::vector<Caller> PluginNode::Connect(std::size_t callers) const {
  std::vector<Caller> connected;
  for (std::size_t i = 0; i < callers; ++i) {
    connected.emplace_back(Caller::Places{
        .kubeconfig = setup_->kubeconfig(), .socket = socket_, .append_file = dir_.path() / Format("floor-{}", i)});
  }
  return connected;
}

std::vector<Kubelet::Claim> PluginNode::MakeClaims(std::size_t count, bool admin_access) {
  std::vector<Kubelet::Claim> claims;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& device = devices_[i % devices_.size()];
    claims.push_back(setup_->MakeClaim(Format("claim-{}", ++made_), {device}, admin_access));
  }
  return claims;
}

void PluginNode::DeleteClaims(const std::vector<Kubelet::Claim>& claims) {
  for (const Kubelet::Claim& claim : claims) Must(setup_->DeleteClaim(claim));
}

}  // namespace tessera::bench
