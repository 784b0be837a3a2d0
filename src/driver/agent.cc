#include "driver/agent.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/directory.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/service_manager.h"
#include "base/text.h"
#include "base/version.h"
#include "cdi/writer.h"
#include "device/slices.h"
#include "driver/api_objects.h"
#include "driver/checkpoint_keeper.h"
#include "driver/claim_history.h"
#include "driver/claim_status.h"
#include "driver/device_faults.h"
#include "driver/health_events.h"
#include "driver/health_metrics.h"
#include "driver/health_report.h"
#include "driver/health_watch.h"
#include "driver/hook_file.h"
#include "driver/journal_metrics.h"
#include "driver/leadership.h"
#include "driver/metrics.h"
#include "driver/offer.h"
#include "driver/preparer.h"
#include "driver/probes.h"
#include "driver/publisher.h"
#include "driver/reconciler.h"
#include "driver/service_watchdog.h"
#include "driver/serving.h"
#include "driver/takeover.h"
#include "driver/trouble.h"
#include "journal/journal.h"
#include "journal/leases.h"
#include "kube/client.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{1'000};
constexpr std::chrono::seconds kHealthWait{3};  // For health to take note of a scan: a turn takes milliseconds.
constexpr std::chrono::milliseconds kFirstRelease{2'000}, kReleaseInterval{60'000};  // Of memory.

fs::path PluginDirectory(const AgentOptions& options) { return options.plugins / device::kDriverName; }

kubelet::PluginOptions MakePluginOptions(const AgentOptions& options) {
  return {.driver_name = std::string(device::kDriverName),
          .registry = options.registry,
          .directory = PluginDirectory(options),
          .instance = options.instance,
          .kep5322 = options.kep5322};
}

HealthWatch::Options MakeHealthOptions(const AgentOptions& options, const std::string& boot_id) {
  HealthWatch::Options health{.files = options.health,
                              .state_file = PluginDirectory(options) / health::kHealthFile,
                              .boot_id = boot_id,
                              .watch = {.period = options.health_period}};
  for (const DriverRoot& root : options.driver_roots) health.watch.host.driver_roots.push_back(root.here);
  return health;
}

// Beside a plugin of the same names (it is the one that serves) ours gets another.
fs::path HealthSocket(const kubelet::PluginOptions& options, journal::Leases& leases) {
  if (!options.instance.empty()) return options.directory / Format("health-{}.sock", options.instance);
  const auto paths = kubelet::MakeSocketPaths(options);
  const bool taken = paths && leases.IsHeld(InstanceLease(paths->registration)).value_or(false);
  return options.directory / (taken ? Format("health-{}.sock", ::getpid()) : "health.sock");
}

// Everything of one plugin process. Parts are in the order they are made; each uses only those before it.
class Agent {
 public:
  Agent(AgentOptions options, std::unique_ptr<kube::Client> client, std::string hook_path);

  // Starts what must work at once, or the process is of no use.
  Result<void> Serve();
  void Run(const std::stop_token& stop);
  Result<void> Alive() { return serving_.Alive(); }  // From any thread.

 private:
  // One look around, once a second.
  void Tick();
  Result<void> TakeOver();
  void StandBack(const OtherDriver& other);
  void Shutdown();

  Result<void> Ready();  // From any thread.
  void OnScan();
  void OnHealth(const NodeHealth& health);
  void SetLeading(bool leading);  // Who leads writes down and tells how devices are.

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
  ApiClaimStatus statuses_;
  ApiEvents event_sink_;
  Events events_;
  Trouble trouble_;
  std::unique_ptr<journal::Journal> journal_;
  journal::Leases leases_;
  cdi::Writer writer_;
  ClaimFiles files_;
  Hardware hardware_;
  HealthWatch health_;
  HealthEvents health_events_;
  ClaimStatus claim_status_;
  ClaimHistory history_;
  ForeignHolders foreign_;
  Publisher publisher_;
  Offer offer_;
  CheckpointKeeper checkpoint_;
  HealthFaults faults_;
  Preparer preparer_;
  Reconciler reconciler_;
  Leadership leadership_;
  Serving serving_;
  std::unique_ptr<Probes> probes_;
  std::unique_ptr<InventoryLoop> inventory_;

  // Of the main thread alone:
  steady_clock::time_point next_release_ = steady_clock::now() + kFirstRelease;
};

Agent::Agent(AgentOptions options, std::unique_ptr<kube::Client> client, std::string hook_path)
    : options_(std::move(options)),
      directory_(PluginDirectory(options_)),
      boot_id_(journal::BootId(options_.procfs)),
      hook_path_(std::move(hook_path)),
      plugin_options_(MakePluginOptions(options_)),
      metrics_(options_.node_name, kVersion),
      client_(std::move(client)),
      api_(*client_),
      claims_(*client_, api_),
      slices_(*client_, api_, options_.node_name),
      statuses_(*client_, api_),
      event_sink_(*client_),
      events_({.node_name = options_.node_name}, event_sink_, metrics_),
      trouble_(options_.node_name, events_),
      journal_(journal::Journal::Open({.directory = directory_})),
      leases_(directory_ / "leases"),
      writer_(options_.cdi_root),
      files_(writer_),
      health_(MakeHealthOptions(options_, boot_id_), {hardware_, trouble_, metrics_}),
      health_events_(options_.node_name, *journal_, events_),
      claim_status_({.node_name = options_.node_name}, {*journal_, hardware_, claims_, statuses_, trouble_, metrics_}),
      history_({.directory = directory_, .keep = [this] { return health_.history(); }}, *journal_, trouble_),
      foreign_(options_.pod_resources),
      publisher_({.node_name = options_.node_name}, slices_, events_, metrics_),
      offer_(options_.node_name, {hardware_, foreign_, *journal_, publisher_, events_, metrics_, health_}),
      checkpoint_({.directory = directory_, .boot_id = boot_id_, .enabled = options_.keep_go_checkpoint}, *journal_),
      faults_(health_, publisher_, [this] { offer_.Publish(); }),
      preparer_({.node_name = options_.node_name, .boot_id = boot_id_, .use_callers_thread = true},
                {*journal_, leases_, files_, hardware_, claims_, foreign_, events_, metrics_, faults_}),
      reconciler_({.node_name = options_.node_name},
                  {*journal_, leases_, writer_, files_, hardware_, claims_, foreign_, preparer_, events_, metrics_}),
      leadership_(
          {.node_name = options_.node_name, .directory = directory_, .boot_id = boot_id_},
          {*client_, api_, *journal_, leases_, publisher_, reconciler_, offer_, checkpoint_, events_, trouble_}),
      serving_(
          options_.node_name, plugin_options_,
          {.leases = leases_,
           .handler = preparer_,
           .events = events_,
           .metrics = metrics_,
           .health = [this] { return HealthReport(*health_.report(), hardware_, options_.node_name, health_.lease()); },
           .health_as_of = [this] { return health_.made(); }}) {
  preparer_.on_change = [this] {
    offer_.OnPreparedChange();
    checkpoint_.Soon();
    claim_status_.Soon();
    history_.Soon();
  };
  health_.on_change = [this](const auto& report, const auto& /*changes*/) { OnHealth(report); };
  health_.on_look = [this] { serving_.ReportHealth(); };
  metrics_.registry.OnPrint([this] {
    ShowJournal(*journal_, metrics_);
    ShowHealth(*health_.report(), std::chrono::system_clock::now(), metrics_);
    (*metrics_.health_streams).Set(static_cast<double>(serving_.health_streams()));
  });
}

Result<void> Agent::Serve() {
  TESSERA_ASSIGN(probes_, Probes::Start({.health_socket = HealthSocket(plugin_options_, leases_),
                                         .health_port = options_.healthcheck_port,
                                         .http_endpoint = options_.http_endpoint,
                                         .metrics_path = options_.metrics_path},
                                        {.alive = [this] { return Alive(); },
                                         .ready = [this] { return Ready(); },
                                         .metrics = [this] { return metrics_.registry.Print(); }}));
  health_.Start();  // Before the first scan, which waits for it.
  inventory_ = std::make_unique<InventoryLoop>(InventoryLoop::Options{.roots = options_.driver_roots,
                                                                      .dev_root = options_.dev_root,
                                                                      .sysfs = options_.sysfs,
                                                                      .procfs = options_.procfs,
                                                                      .hook_path = hook_path_,
                                                                      .excluded = options_.excluded},
                                               hardware_, writer_, metrics_, [this] { OnScan(); });
  return {};
}

void Agent::Run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;  // By a wish to stop.
  while (!stop.stop_requested()) {
    Tick();
    std::unique_lock lock(mutex);
    woken.wait_for(lock, stop, kTick, [] { return false; });
  }
  Shutdown();
}

void Agent::Tick() {
  const auto paths = kubelet::MakeSocketPaths(plugin_options_);
  if (!paths) return trouble_.Block(paths.error());
  if (const auto other = FindOtherDriver(options_.registry, device::kDriverName, paths->registration, leases_)) {
    return StandBack(*other);
  }
  if (!serving_.started()) {
    if (auto started = TakeOver(); !started) return trouble_.Block(started.error());
    trouble_.Clear();
  }
  if (auto kept = serving_.KeepRegistered(); !kept) trouble_.Say(kept.error());
  leadership_.Lead();
  SetLeading(leadership_.leads());
  offer_.LookForForeigners();
  if (const auto state = hardware_.state()) faults_.LookAgain(*state);
  if (steady_clock::now() >= next_release_) {
    ReleaseUnusedMemory();
    next_release_ = steady_clock::now() + kReleaseInterval;
  }
}

// Two drivers of one name on a node break each other; the one that was there first goes on.
void Agent::StandBack(const OtherDriver& other) {
  trouble_.Block({ErrorKind::kPermanentConfig, "AnotherDriver",
                  Format("another process serves {} on this node, at {}", device::kDriverName, other.socket.string()),
                  "uninstall it; this one takes over within seconds of its end"});
  SetLeading(false);
  leadership_.GiveUp();
  serving_.Stop(options_.stop_grace);
}

Result<void> Agent::TakeOver() {
  TESSERA_TRY(leadership_.Adopt());
  return serving_.Start();
}

// In this order: the kubelet forgets us first, so that it sends new calls elsewhere; running calls end; another
// instance publishes on without a gap; slices stay, because the kubelet removes them should nobody come back. Health is
// written down before another instance leads and writes it.
void Agent::Shutdown() {
  log::Info("Stopping");
  serving_.Unregister();
  leadership_.Pause();
  serving_.Stop(options_.stop_grace);
  health_.Stop();
  history_.Stop();
  SetLeading(false);
  leadership_.End();
  inventory_.reset();
  log::Info("Stopped");
}

Result<void> Agent::Ready() {
  if (auto error = trouble_.blocking()) return std::unexpected(*std::move(error));
  TESSERA_TRY(serving_.Registered());
  if (auto failure = hardware_.failure()) return std::unexpected(*std::move(failure));
  if (auto failure = publisher_.failure()) return std::unexpected(*std::move(failure));
  return {};
}

// Health comes first: a device must not be offered for a moment without the taints it had before a restart.
void Agent::OnScan() {
  health_.Refresh(steady_clock::now() + kHealthWait);
  if (offer_.NoteScan()) reconciler_.Soon();  // Now files can be mended.
  offer_.Publish();
}

void Agent::OnHealth(const NodeHealth& health) {
  offer_.Publish();
  health_events_.OnReport(health);
  claim_status_.SetHealth(health);
  history_.SetHealth(health);
}

void Agent::SetLeading(bool leading) {
  health_.SetLeading(leading);
  health_events_.SetActive(leading);
  claim_status_.SetActive(leading);
  history_.SetActive(leading);
}

}  // namespace

Result<void> RunAgent(AgentOptions options, const std::stop_token& stop) {
  const fs::path directory = PluginDirectory(options);
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
