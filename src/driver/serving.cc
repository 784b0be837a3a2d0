#include "driver/serving.h"

#include "base/directory.h"
#include "base/log.h"
#include "driver/takeover.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kProbeTimeout{3'000};

}  // namespace

Serving::Serving(std::string node_name, kubelet::PluginOptions options, Parts parts)
    : node_name_(std::move(node_name)), options_(std::move(options)), parts_(std::move(parts)) {}

Result<void> Serving::Start() {
  TESSERA_TRY(MakeDirectory(options_.registry, 0755));
  TESSERA_ASSIGN(const kubelet::SocketPaths paths, kubelet::MakeSocketPaths(options_));
  if (!instance_) {
    TESSERA_ASSIGN(instance_, parts_.leases.TryAcquire(InstanceLease(paths.registration)));
    if (!instance_) return Transient("InstanceTaken", "another instance of this plugin uses the same sockets");
  }
  for (const fs::path& stale : kubelet::RemoveStaleSockets(options_)) {
    log::Info("Removed a stale socket", {{"socket", stale.string()}});
  }
  kubelet::PluginOptions options = options_;
  options.on_registration = [this](const kubelet::RegistrationState& state) { OnRegistration(state); };
  TESSERA_ASSIGN(std::unique_ptr<kubelet::PluginServer> plugin, kubelet::PluginServer::Start(options, parts_.handler));
  TESSERA_TRY(plugin->Register());
  log::Info("Serving the kubelet", {{"socket", paths.service.string()}, {"registration", paths.registration.string()}});
  {
    const std::lock_guard lock(mutex_);
    plugin_ = std::move(plugin);
  }
  ReportHealth();
  return {};
}

Result<void> Serving::KeepRegistered() {
  TESSERA_ASSIGN(const kubelet::SocketPaths paths, kubelet::MakeSocketPaths(options_));
  if (fs::exists(paths.registration) || plugin_->registration().state != kubelet::Registration::kRegistered) return {};
  log::Warning("The registration socket was removed; making it again", {{"socket", paths.registration.string()}});
  return plugin_->Register();
}

void Serving::Unregister() {
  if (plugin_) plugin_->Unregister();
}

void Serving::Stop(std::chrono::milliseconds grace) {
  std::shared_ptr<kubelet::PluginServer> plugin;
  {
    const std::lock_guard lock(mutex_);
    plugin.swap(plugin_);
  }
  if (plugin) plugin->Stop(grace);
}

void Serving::ReportHealth() {
  const std::lock_guard lock(mutex_);  // Also over the question, so that no older answer comes later.
  if (!plugin_) return;
  const auto as_of = parts_.health_as_of();  // First: the report may be newer than that, never older.
  plugin_->SetHealth(parts_.health(), as_of);
}

std::size_t Serving::health_streams() {
  const auto plugin = Current();
  return plugin ? plugin->health_streams() : 0;
}

Result<void> Serving::Alive() {
  const auto plugin = Current();
  if (!plugin) return {};
  return plugin->Probe(kProbeTimeout);
}

Result<void> Serving::Registered() {
  const auto plugin = Current();
  if (!plugin) return Transient("Starting", "the plugin is starting");
  const kubelet::RegistrationState state = plugin->registration();
  if (state.state == kubelet::Registration::kRefused) return Transient("RegistrationRefused", state.error);
  if (state.state != kubelet::Registration::kRegistered) {
    return Transient("NotRegistered", "the kubelet has not registered the plugin yet",
                     "is the registry directory its own?");
  }
  return {};
}

std::shared_ptr<kubelet::PluginServer> Serving::Current() {
  const std::lock_guard lock(mutex_);
  return plugin_;
}

void Serving::OnRegistration(const kubelet::RegistrationState& state) {
  (*parts_.metrics.registered).Set(state.state == kubelet::Registration::kRegistered ? 1 : 0);
  if (state.state != kubelet::Registration::kRefused) return;
  (*parts_.metrics.registrations_refused).Add();
  parts_.events.Post(NodeTarget(node_name_), EventType::kWarning, "RegistrationRefused", state.error);
}

}  // namespace tessera::driver
