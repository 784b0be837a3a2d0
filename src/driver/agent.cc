#include "driver/agent.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/log.h"
#include "base/memory.h"
#include "base/service_manager.h"
#include "base/text.h"
#include "base/version.h"
#include "cdi/writer.h"
#include "device/slices.h"
#include "driver/api_objects.h"
#include "driver/health_report.h"
#include "driver/hook_file.h"
#include "driver/metrics.h"
#include "driver/preparer.h"
#include "driver/published_devices.h"
#include "driver/publisher.h"
#include "driver/reconciler.h"
#include "driver/service_watchdog.h"
#include "driver/takeover.h"
#include "journal/journal.h"
#include "journal/leases.h"
#include "kube/client.h"
#include "kube/watch.h"
#include "kubelet/health_server.h"
#include "kubelet/plugin_server.h"
#include "net/http_server.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{1'000};
constexpr std::chrono::milliseconds kForeignInterval{5'000};
constexpr std::chrono::milliseconds kCheckpointDelay{1'000};
constexpr std::chrono::milliseconds kFirstRelease{2'000}, kReleaseInterval{60'000};  // Of memory.
constexpr std::chrono::milliseconds kProbeTimeout{3'000};
constexpr std::chrono::milliseconds kSayAgain{60'000};
constexpr std::chrono::milliseconds kCheckpointInterval{30'000};  // For what other instances did.

// Held by the instance that leads, once the Go driver's claims are ours.
constexpr const char* kAdoptedLease = "adopted";

Result<void> MakeDirectory(const fs::path& path, mode_t mode) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return FromErrno(errno, "NoDirectory", Format("making {}", path.string()));
}

// Everything of one plugin process. Members are in the order they are made; threads that use others come after them.
class Agent {
 public:
  Agent(AgentOptions options, std::unique_ptr<kube::Client> client, std::string hook_path);

  Result<void> Serve();
  void Run(const std::stop_token& stop);
  Result<void> Alive();  // From any thread.

 private:
  // One look around, once a second and when something happened. Returns when there is nothing to do now.
  void Tick();
  void TakeOver();
  void StandBack(const OtherDriver& other);
  Result<void> Adopt();
  Result<void> StartPlugin();
  void Lead();
  void LookForForeigners();
  void KeepGoCheckpoint(bool now);
  void Shutdown();

  std::shared_ptr<kubelet::PluginServer> CurrentPlugin();  // For other threads; may be null.
  fs::path HealthSocket();
  void OnScan();
  void OnPreparedChange();
  void Republish();
  net::ServerResponse Answer(const net::ServerRequest& request);
  Result<void> Ready();
  void Say(const Error& error);  // Once a minute for as long as it lasts.
  void RefreshMetrics();

  const AgentOptions options_;
  const fs::path directory_;  // The plugin's own.
  const std::string boot_id_;
  const std::string hook_path_;  // As the container runtime sees it.
  const kubelet::PluginOptions plugin_options_;

  Metrics metrics_;
  std::unique_ptr<kube::Client> client_;
  kube::ResourceApi api_;
  ApiClaims claims_;
  ApiSlices slices_;
  ApiEvents event_sink_;
  Events events_;
  std::unique_ptr<journal::Journal> journal_;
  journal::Leases leases_;
  cdi::Writer writer_;
  ClaimFiles files_;
  Hardware hardware_;
  ForeignHolders foreign_;
  Preparer preparer_;
  Publisher publisher_;
  Reconciler reconciler_;

  std::mutex mutex_;                   // Guards what follows, up to said_.
  std::condition_variable_any woken_;  // By a wish to stop.
  steady_clock::time_point checkpoint_due_{};
  std::optional<Error> waiting_for_;  // Why we do not serve yet.
  std::map<std::string, steady_clock::time_point, std::less<>> said_;

  // Of the main thread alone:
  std::optional<journal::Lease> leader_, adopted_lease_, instance_;
  std::optional<UniqueFd> go_lock_;
  steady_clock::time_point next_foreign_{};
  steady_clock::time_point next_release_ = steady_clock::now() + kFirstRelease;
  std::atomic<int> failed_scans_ = -1;  // In a row. -1: none was made yet.
  std::atomic<bool> adopted_ = false;   // Claims of the Go driver may hold devices under other names than we publish.

  std::shared_ptr<kubelet::PluginServer> plugin_;  // Guarded by plugin_mutex_: probes use it.
  std::mutex plugin_mutex_;
  std::unique_ptr<kubelet::HealthServer> health_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<kube::Watch> watch_;
  std::unique_ptr<InventoryLoop> inventory_;
};

kubelet::PluginOptions MakePluginOptions(const AgentOptions& options) {
  return {.driver_name = std::string(device::kDriverName),
          .registry = options.registry,
          .directory = options.plugins / device::kDriverName,
          .instance = options.instance,
          .permanent_error_field = options.permanent_error_field};
}

Agent::Agent(AgentOptions options, std::unique_ptr<kube::Client> client, std::string hook_path)
    : options_(std::move(options)),
      directory_(options_.plugins / device::kDriverName),
      boot_id_(journal::BootId(options_.procfs)),
      hook_path_(std::move(hook_path)),
      plugin_options_(MakePluginOptions(options_)),
      metrics_(options_.node_name, kVersion),
      client_(std::move(client)),
      api_(*client_),
      claims_(*client_, api_),
      slices_(*client_, api_, options_.node_name),
      event_sink_(*client_),
      events_({.node_name = options_.node_name}, event_sink_, metrics_),
      journal_(journal::Journal::Open({.directory = directory_})),
      leases_(directory_ / "leases"),
      writer_(options_.cdi_root),
      files_(writer_),
      foreign_(options_.pod_resources),
      preparer_({.node_name = options_.node_name, .boot_id = boot_id_, .use_callers_thread = true},
                {*journal_, leases_, files_, hardware_, claims_, foreign_, events_, metrics_}),
      publisher_({.node_name = options_.node_name}, slices_, events_, metrics_),
      reconciler_({.node_name = options_.node_name},
                  {*journal_, leases_, writer_, files_, hardware_, claims_, foreign_, preparer_, events_, metrics_}) {
  preparer_.on_change = [this] { OnPreparedChange(); };
  metrics_.registry.OnPrint([this] { RefreshMetrics(); });
}

// What must work at once, or the process is of no use.
Result<void> Agent::Serve() {
  auto health = kubelet::HealthServer::Start(
      {.socket = HealthSocket(), .port = options_.healthcheck_port, .check = [this] { return Alive(); }});
  if (health) {
    health_ = *std::move(health);
  } else if (options_.healthcheck_port) {
    return std::unexpected(std::move(health).error());
  } else {
    log::Failure(health.error(), "No gRPC health on a unix socket");  // A read-only disk must not end the plugin.
  }
  if (!options_.http_endpoint.empty()) {
    TESSERA_ASSIGN(http_,
                   net::HttpServer::Start({.address = options_.http_endpoint},
                                          [this](const net::ServerRequest& request) { return Answer(request); }));
  }
  inventory_ = std::make_unique<InventoryLoop>(InventoryLoop::Options{.roots = options_.driver_roots,
                                                                      .dev_root = options_.dev_root,
                                                                      .sysfs = options_.sysfs,
                                                                      .procfs = options_.procfs,
                                                                      .hook_path = hook_path_,
                                                                      .excluded = options_.excluded},
                                               hardware_, writer_, metrics_, [this] { OnScan(); });
  return {};
}

// Beside a plugin of the same names (it is the one that serves) ours gets another.
fs::path Agent::HealthSocket() {
  if (!options_.instance.empty()) return directory_ / Format("health-{}.sock", options_.instance);
  const auto paths = kubelet::MakeSocketPaths(plugin_options_);
  const bool taken = paths && leases_.IsHeld(InstanceLease(paths->registration)).value_or(false);
  return directory_ / (taken ? Format("health-{}.sock", ::getpid()) : "health.sock");
}

void Agent::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Tick();
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, stop, kTick, [] { return false; });
  }
  Shutdown();
}

void Agent::Tick() {
  const auto paths = kubelet::MakeSocketPaths(plugin_options_);
  if (!paths) return Say(paths.error());
  if (const auto other = FindOtherDriver(options_.registry, device::kDriverName, paths->registration, leases_)) {
    return StandBack(*other);
  }
  if (!plugin_) TakeOver();
  if (!plugin_) return;
  if (!fs::exists(paths->registration) && plugin_->registration().state == kubelet::Registration::kRegistered) {
    log::Warning("The registration socket was removed; making it again", {{"socket", paths->registration.string()}});
    if (auto registered = plugin_->Register(); !registered) Say(registered.error());
  }
  Lead();
  LookForForeigners();
  KeepGoCheckpoint(false);
  if (steady_clock::now() >= next_release_) {
    ReleaseUnusedMemory();
    next_release_ = steady_clock::now() + kReleaseInterval;
  }
}

// Two drivers of one name on a node break each other; the one that was there first goes on.
void Agent::StandBack(const OtherDriver& other) {
  Say({ErrorKind::kPermanentConfig, "AnotherDriver",
       Format("another process serves {} on this node, at {}", device::kDriverName, other.socket.string()),
       "uninstall it; this one takes over within seconds of its end"});
  publisher_.SetActive(false);
  reconciler_.SetActive(false);
  leader_.reset();
  adopted_lease_.reset();
  go_lock_.reset();
  if (!plugin_) return;
  std::shared_ptr<kubelet::PluginServer> plugin;
  {
    const std::lock_guard lock(plugin_mutex_);
    plugin.swap(plugin_);
  }
  plugin->Stop(options_.stop_grace);
}

void Agent::TakeOver() {
  auto started = Adopt();
  if (started) started = StartPlugin();
  if (!started) return Say(started.error());
  const std::lock_guard lock(mutex_);
  waiting_for_.reset();
  said_.clear();
}

// Before anything is served: the Go driver must not be in the middle of something, and its claims become ours.
Result<void> Agent::Adopt() {
  if (!go_lock_) {
    TESSERA_ASSIGN(go_lock_, HoldGoLock(directory_));
  }
  if (!go_lock_) return Transient("GoDriverBusy", "the Go driver is preparing a claim", "waiting for it to end");
  if (!leader_) {
    TESSERA_ASSIGN(leader_, leases_.TryAcquire("publisher"));
  }
  if (!leader_) {  // Another instance of ours leads, and adopts before it serves.
    TESSERA_ASSIGN(const bool adopted, leases_.IsHeld(kAdoptedLease));
    if (adopted) return {};
    return Transient("Starting", "another instance of this plugin is taking over", "waiting for it");
  }
  auto adopted = AdoptCheckpoint(directory_, *journal_, boot_id_);
  if (!adopted && adopted.error().code() == "BadCheckpoint") {
    Say(adopted.error());
    adopted = Adoption{};
  }
  if (!adopted) {
    leader_.reset();
    return std::unexpected(std::move(adopted).error());
  }
  reconciler_.RestoreLost();
  TESSERA_ASSIGN(adopted_lease_, leases_.TryAcquire(kAdoptedLease));
  adopted_ = adopted_ || adopted->adopted > 0 ||
             std::ranges::any_of(journal_->All(), [](const journal::ClaimPtr& claim) { return claim->origin == "go"; });
  if (adopted->adopted + adopted->forgotten > 0) {
    log::Info("Took over from the Go driver", {{"adopted", adopted->adopted}, {"forgotten", adopted->forgotten}});
    events_.Post(NodeTarget(options_.node_name), EventType::kNormal, "TookOver",
                 Format("took over {} claims from the Go driver's checkpoint", adopted->adopted));
  }
  return {};
}

Result<void> Agent::StartPlugin() {
  TESSERA_TRY(MakeDirectory(options_.registry, 0755));
  TESSERA_ASSIGN(const kubelet::SocketPaths paths, kubelet::MakeSocketPaths(plugin_options_));
  if (!instance_) {
    TESSERA_ASSIGN(instance_, leases_.TryAcquire(InstanceLease(paths.registration)));
    if (!instance_) return Transient("InstanceTaken", "another instance of this plugin uses the same sockets");
  }
  for (const fs::path& stale : kubelet::RemoveStaleSockets(plugin_options_)) {
    log::Info("Removed a stale socket", {{"socket", stale.string()}});
  }
  kubelet::PluginOptions options = plugin_options_;
  options.on_registration = [this](const kubelet::RegistrationState& state) {
    (*metrics_.registered).Set(state.state == kubelet::Registration::kRegistered ? 1 : 0);
    if (state.state == kubelet::Registration::kRefused) {
      (*metrics_.registrations_refused).Add();
      events_.Post(NodeTarget(options_.node_name), EventType::kWarning, "RegistrationRefused", state.error);
    }
  };
  TESSERA_ASSIGN(std::unique_ptr<kubelet::PluginServer> plugin, kubelet::PluginServer::Start(options, preparer_));
  TESSERA_TRY(plugin->Register());
  log::Info("Serving the kubelet", {{"socket", paths.service.string()}, {"registration", paths.registration.string()}});
  const std::lock_guard lock(plugin_mutex_);
  plugin_ = std::move(plugin);
  plugin_->SetHealth(HealthReport(hardware_, options_.node_name));
  return {};
}

// One instance publishes and reconciles: the one that holds the lease. The kernel hands it on when that one dies.
void Agent::Lead() {
  if (!leader_) {
    auto lease = leases_.TryAcquire("publisher");
    if (!lease) return Say(lease.error());
    leader_ = *std::move(lease);
    if (!leader_) return;
    if (auto held = leases_.TryAcquire(kAdoptedLease)) adopted_lease_ = *std::move(held);
  }
  if (!watch_) {
    watch_ = std::make_unique<kube::Watch>(
        *client_, api_,
        kube::WatchOptions{
            .resource = "resourceslices",
            .field_selector = Format("spec.driver={},spec.nodeName={}", device::kDriverName, options_.node_name)},
        kube::WatchHandlers{
            .on_list = [this](std::vector<json::Value> items) { publisher_.OnList(std::move(items)); },
            .on_change =
                [this](kube::Change change, json::Value object) {
                  if (change == kube::Change::kDeleted) return publisher_.OnDeleted(std::move(object));
                  publisher_.OnChanged(std::move(object));
                },
            .on_error = [](const Error& error) { log::Failure(error, "Could not watch our ResourceSlices"); }});
  }
  publisher_.SetActive(true);
  reconciler_.SetActive(true);
}

void Agent::LookForForeigners() {
  if (steady_clock::now() < next_foreign_) return;
  next_foreign_ = steady_clock::now() + kForeignInterval;
  if (!foreign_.Refresh(kTick)) return;  // No such API on old kubelets, no mount in old charts: nothing to learn.
  const std::vector<ForeignHolder> now = foreign_.Current();
  (*metrics_.foreign_holders).Set(static_cast<double>(now.size()));
  double conflicts = 0;
  for (const ForeignHolder& holder : now) {
    for (const journal::ClaimPtr& claim : journal_->All()) {
      for (const api::PreparedDevice& device : claim->devices) {
        if (!Holds(holder, device.hardware) || device.admin_access) continue;
        ++conflicts;
        const std::string text = Format("{} is held by claim {} and, through {}, by pod {}", device.name,
                                        api::ToText(claim->claim), holder.resource, holder.pod);
        events_.Post(ClaimTarget(claim->claim), EventType::kWarning, "DeviceConflict", text);
        events_.Post(NodeTarget(options_.node_name), EventType::kWarning, "DeviceConflict", text);
      }
    }
  }
  (*metrics_.device_conflicts).Set(conflicts);
  Republish();  // Others ask the kubelet as well, so what changed since last time is not known; the same is not written.
}

void Agent::KeepGoCheckpoint(bool now) {
  if (!options_.keep_go_checkpoint || !leader_) return;
  {
    const std::lock_guard lock(mutex_);
    if (!now && checkpoint_due_ > steady_clock::now()) return;
    checkpoint_due_ = steady_clock::now() + kCheckpointInterval;
  }
  if (auto kept = KeepCheckpoint(directory_, *journal_, boot_id_); !kept) Say(kept.error());
}

// In this order: the kubelet forgets us first, so that it sends new calls elsewhere; running calls end; another
// instance publishes on without a gap; slices stay, because the kubelet removes them should nobody come back.
void Agent::Shutdown() {
  log::Info("Stopping");
  const auto plugin = CurrentPlugin();
  if (plugin) plugin->Unregister();
  publisher_.SetActive(false);
  reconciler_.SetActive(false);
  if (plugin) plugin->Stop(options_.stop_grace);
  watch_.reset();
  KeepGoCheckpoint(true);
  leader_.reset();
  inventory_.reset();
  log::Info("Stopped");
}

void Agent::OnScan() {
  const bool failed = hardware_.failure().has_value();
  if (failed_scans_ != 0 && !failed) reconciler_.Soon();  // The first scan, or the driver is back: files can be mended.
  failed_scans_ = failed ? std::max(failed_scans_.load(), 0) + 1 : 0;
  Republish();
  const std::lock_guard lock(plugin_mutex_);
  if (plugin_) plugin_->SetHealth(HealthReport(hardware_, options_.node_name));
}

// Without a driver the node offers nothing: at once when it never answered, after a while when it did, because a driver
// that reloads is back in seconds.
void Agent::Republish() {
  constexpr int kPatience = 3;
  const auto state = hardware_.state();
  if (state && failed_scans_ < kPatience) {
    publisher_.SetDevices(PublishedDevices(*state->snapshot, foreign_.Current(), journal_->All()));
  } else if (hardware_.failure()) {
    publisher_.SetDevices({});
  }
}

void Agent::OnPreparedChange() {
  if (adopted_) Republish();
  const std::lock_guard lock(mutex_);
  checkpoint_due_ = std::min(checkpoint_due_, steady_clock::now() + kCheckpointDelay);
}

void Agent::Say(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!plugin_) waiting_for_ = error;
    auto& last = said_[std::string(error.code())];
    if (steady_clock::now() - last < kSayAgain && last != steady_clock::time_point()) return;
    last = steady_clock::now();
  }
  log::Failure(error, "Waiting");
  events_.Post(NodeTarget(options_.node_name), EventType::kWarning, error.code(), error.Text());
}

net::ServerResponse Agent::Answer(const net::ServerRequest& request) {
  if (request.path == options_.metrics_path) {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.registry.Print()};
  }
  if (request.path != "/healthz" && request.path != "/readyz") return {.status = 404, .body = "not found\n"};
  const Result<void> fine = request.path == "/healthz" ? Alive() : Ready();
  if (fine) return {.body = "ok\n"};
  return {.status = 503, .body = Format("{}: {}\n", fine.error().code(), fine.error().Text())};
}

std::shared_ptr<kubelet::PluginServer> Agent::CurrentPlugin() {
  const std::lock_guard lock(plugin_mutex_);
  return plugin_;
}

// Both services are asked as the kubelet would. While we stand back or wait there are none, and that is as it should be.
Result<void> Agent::Alive() {
  const auto plugin = CurrentPlugin();
  if (!plugin) return {};
  return plugin->Probe(kProbeTimeout);
}

Result<void> Agent::Ready() {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_for_) return std::unexpected(*waiting_for_);
  }
  const auto plugin = CurrentPlugin();
  if (!plugin) return Transient("Starting", "the plugin is starting");
  const kubelet::RegistrationState state = plugin->registration();
  if (state.state == kubelet::Registration::kRefused) return Transient("RegistrationRefused", state.error);
  if (state.state != kubelet::Registration::kRegistered) {
    return Transient("NotRegistered", "the kubelet has not registered the plugin yet",
                     "is the registry directory its own?");
  }
  if (auto failure = hardware_.failure()) return std::unexpected(*failure);
  if (auto failure = publisher_.failure()) return std::unexpected(*failure);
  return {};
}

void Agent::RefreshMetrics() {
  const journal::Stats stats = journal_->stats();
  (*metrics_.journal_bytes).Set(static_cast<double>(stats.bytes));
  (*metrics_.journal_claims).Set(static_cast<double>(stats.claims));
  (*metrics_.journal_syncs).Follow(static_cast<double>(stats.syncs));
  (*metrics_.journal_recoveries).Follow(static_cast<double>(stats.recoveries));
  (*metrics_.journal_write_failures).Follow(static_cast<double>(stats.write_failures));
  double gpus = 0;
  double migs = 0;
  metrics_.claim_info.Clear();
  for (const journal::ClaimPtr& claim : journal_->All()) {
    for (const api::PreparedDevice& device : claim->devices) {
      const auto& mig = device.hardware.mig;
      (mig ? migs : gpus) += 1;
      const std::vector<std::string> none{""};
      for (const std::string& pod : claim->pods.empty() ? none : claim->pods) {
        metrics_.claim_info
            .With({claim->claim.namespace_name, claim->claim.name, claim->claim.uid, pod, device.name,
                   mig ? "mig" : "gpu", mig ? mig->uuid : device.hardware.gpu_uuid,
                   mig ? device.hardware.gpu_uuid : ""})
            .Set(1);
      }
    }
  }
  metrics_.SetPrepared(gpus, migs);
}

}  // namespace

Result<void> RunAgent(AgentOptions options, const std::stop_token& stop) {
  const fs::path directory = options.plugins / device::kDriverName;
  TESSERA_TRY(MakeDirectory(directory, 0750));
  TESSERA_ASSIGN(const std::string hook_path, InstallHook(options.cdi_hook_path, directory));
  TESSERA_ASSIGN(auto client, kube::Client::Create({.access = options.access,
                                                    .user_agent = Format("tessera-kubelet-plugin/{}", kVersion),
                                                    .qps = options.kube_qps,
                                                    .burst = options.kube_burst}));
  TESSERA_ASSIGN(ServiceManager service_manager,
                 ServiceManager::Find([](const char* name) { return std::getenv(name); }));
  log::Info("Starting", {{"version", kVersion}, {"node", options.node_name}, {"server", client->server()}});
  Agent agent(std::move(options), std::move(client), hook_path);
  TESSERA_TRY(agent.Serve());
  const ServiceWatchdog watchdog(std::move(service_manager), [&agent] { return agent.Alive(); }, stop);
  agent.Run(stop);
  return {};
}

}  // namespace tessera::driver
