#include "tests/standin/kubelet.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <proto/dra_health_v1.grpc.pb.h>
#include <proto/dra_health_v1alpha1.grpc.pb.h>
#include <proto/dra_v1.grpc.pb.h>
#include <proto/dra_v1beta1.grpc.pb.h>
#include <proto/plugin_registration.grpc.pb.h>
#include <proto/pod_resources_v1.grpc.pb.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;
namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;
using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr seconds kGetInfoTimeout{1}, kNotifyTimeout{5};
constexpr milliseconds kMaxRetry{122'000};
constexpr seconds kDefaultLease{30};

// grpc-go percent-encodes the path of a plain dial, and says "localhost" for a unix: target.
std::shared_ptr<grpc::Channel> Dial(const std::string& path, bool registration) {
  std::string authority = "localhost";
  if (registration) {
    authority.clear();
    for (const char c : path) authority += c == '/' ? std::string("%2F") : std::string(1, c);
  }
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(4 << 20);
  return grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), arguments);
}

auto In(milliseconds timeout) { return std::chrono::system_clock::now() + timeout; }

std::string Words(const grpc::Status& status) {
  return Format("rpc error: code = {} desc = {}", static_cast<int>(status.error_code()), status.error_message());
}

// ---- Calls ----------------------------------------------------------------------------------------------------------

Kubelet::Device ReadDevice(const auto& from) {
  Kubelet::Device device{.requests = {from.request_names().begin(), from.request_names().end()},
                         .pool = from.pool_name(),
                         .name = from.device_name(),
                         .cdi_ids = {from.cdi_device_ids().begin(), from.cdi_device_ids().end()},
                         .share_id = {}};
  if constexpr (requires { from.share_id(); }) {
    if (from.has_share_id()) device.share_id = from.share_id();
  }
  return device;
}

Kubelet::ClaimAnswer ReadClaim(const auto& from) {
  Kubelet::ClaimAnswer answer{.error = from.error(), .devices = {}};
  if constexpr (requires { from.error_type(); }) answer.permanent = from.error_type() == 1;
  if constexpr (requires { from.devices(); }) {
    for (const auto& device : from.devices()) answer.devices.push_back(ReadDevice(device));
  }
  return answer;
}

// How the kubelet judges a response that came with status OK. It walks a Go map, so the first fault found varies there.
std::string Judge(const std::string& method, const std::vector<Kubelet::Claim>& claims, const Kubelet::Answer& answer) {
  std::map<std::string, std::string> names;
  for (const Kubelet::Claim& claim : claims) names.emplace(claim.uid, claim.name);
  for (const auto& [uid, claim] : answer.claims) {
    if (!names.contains(uid)) return Format("{} returned result for unknown claim UID {}", method, uid);
    if (!claim.error.empty()) return Format("{} failed for ResourceClaim {}: {}", method, names.at(uid), claim.error);
  }
  const std::size_t skipped = names.size() - answer.claims.size();
  return skipped == 0 ? "" : Format("{} skipped {} ResourceClaims", method, skipped);
}

template <class Stub, class Request, class Response>
Kubelet::Answer CallDriver(const std::shared_ptr<grpc::Channel>& channel,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                           const std::string& name, const std::vector<Kubelet::Claim>& claims, milliseconds timeout) {
  Request request;
  for (const Kubelet::Claim& claim : claims) {
    auto& out = *request.add_claims();
    out.set_namespace_(claim.namespace_name);
    out.set_name(claim.name);
    out.set_uid(claim.uid);
  }
  grpc::ClientContext context;
  context.set_deadline(In(timeout));
  Response response;
  Stub stub(channel);
  const grpc::Status status = (stub.*method)(&context, request, &response);
  Kubelet::Answer answer{.error = {}, .grpc_code = status.error_code(), .claims = {}};
  if (!status.ok()) {
    answer.error = Format("{}: {}", name, Words(status));
    return answer;
  }
  for (const auto& [uid, claim] : response.claims()) answer.claims.emplace(uid, ReadClaim(claim));
  answer.error = Judge(name, claims, answer);
  return answer;
}

// ---- The registry as inotify shows it -------------------------------------------------------------------------------

// Follows the sockets below a directory. Only creation (or renaming into it) and removal count.
class Watcher {
 public:
  explicit Watcher(const fs::path& root) : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    if (!fd_) Abort("inotify_init1 failed");
    Walk(root);
  }

  // The sockets that are there, each with a number that is new whenever it was created.
  const std::map<fs::path, std::uint64_t>& sockets() const { return sockets_; }

  void Wait(milliseconds timeout) {
    pollfd poll{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&poll, 1, static_cast<int>(timeout.count())) > 0) Read();
  }

 private:
  void Walk(const fs::path& directory) {
    const int watch = ::inotify_add_watch(fd_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO | IN_DELETE);
    if (watch < 0) return;
    directories_[watch] = directory;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error)) Created(entry.path());
  }

  void Created(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (fs::is_directory(status)) return Walk(path);
    if (fs::is_socket(status) && !path.filename().native().starts_with('.')) sockets_[path] = ++created_;
  }

  void Read() {
    alignas(inotify_event) std::array<char, 16384> buffer;
    for (;;) {
      const ssize_t size = ::read(fd_.get(), buffer.data(), buffer.size());
      if (size <= 0) return;
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
        at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
        if (event->len == 0 || !directories_.contains(event->wd)) continue;
        const fs::path path = directories_.at(event->wd) / event->name;
        if ((event->mask & IN_DELETE) != 0) {
          sockets_.erase(path);
        } else {
          Created(path);
        }
      }
    }
  }

  const UniqueFd fd_;
  std::map<int, fs::path> directories_;
  std::map<fs::path, std::uint64_t> sockets_;
  std::uint64_t created_ = 0;
};

// ---- PodResources ---------------------------------------------------------------------------------------------------

class PodResourcesServer final : public v1::PodResourcesLister::Service {
 public:
  explicit PodResourcesServer(const fs::path& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket.native(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (!server_) Abort("cannot serve PodResources");
  }
  ~PodResourcesServer() override { server_->Shutdown(); }

  void Set(std::vector<Kubelet::HeldDevices> held) {
    const std::lock_guard lock(mutex_);
    held_ = std::move(held);
  }

 private:
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* response) override {
    const std::lock_guard lock(mutex_);
    for (const Kubelet::HeldDevices& held : held_) {
      v1::PodResources& pod = *response->add_pod_resources();
      pod.set_namespace_(held.pod_namespace);
      pod.set_name(held.pod_name);
      v1::ContainerResources& container = *pod.add_containers();
      container.set_name(held.container);
      v1::ContainerDevices& devices = *container.add_devices();
      devices.set_resource_name(held.resource);
      for (const std::string& id : held.ids) devices.add_device_ids(id);
    }
    return grpc::Status::OK;
  }

  std::mutex mutex_;
  std::vector<Kubelet::HeldDevices> held_;
  std::unique_ptr<grpc::Server> server_;
};

// ---- Health ---------------------------------------------------------------------------------------------------------

// Health by driver, shared by all streams.
class HealthCache {
 public:
  void Put(const std::string& driver, const auto& response) {
    const std::lock_guard lock(mutex_);
    ++reports_[driver];
    for (const auto& from : response.devices()) {
      const auto lease =
          from.health_check_timeout_seconds() > 0 ? seconds(from.health_check_timeout_seconds()) : kDefaultLease;
      constexpr std::array kNames{"Unknown", "Healthy", "Unhealthy"};
      const auto health = static_cast<std::size_t>(from.health());
      devices_[driver][from.device().pool_name() + "/" + from.device().device_name()] = {
          .health = health < kNames.size() ? kNames.at(health) : "Unknown",
          .message = from.message(),
          .lease = lease,
          .received = std::chrono::steady_clock::now()};  // The lease counts from here; the driver's time is not used.
    }
  }
  // On every end of any stream the kubelet drops what the driver has said.
  void Clear(const std::string& driver) {
    const std::lock_guard lock(mutex_);
    devices_.erase(driver);
  }
  std::map<std::string, Kubelet::DeviceHealth> Get(const std::string& driver) const {
    const std::lock_guard lock(mutex_);
    const auto found = devices_.find(driver);
    if (found == devices_.end()) return {};
    auto devices = found->second;
    for (auto& [name, device] : devices) {
      if (std::chrono::steady_clock::now() > device.received + device.lease) device.health = "Unknown";
    }
    return devices;
  }
  std::uint64_t reports(const std::string& driver) const {
    const std::lock_guard lock(mutex_);
    const auto found = reports_.find(driver);
    return found == reports_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, Kubelet::DeviceHealth>> devices_;
  std::map<std::string, std::uint64_t> reports_;
};

void WaitFor(const std::stop_token& stop, milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

// ---- One registered plugin ------------------------------------------------------------------------------------------

// Its connection and its health stream, until it is dropped.
class Plugin {
 public:
  Plugin(Kubelet::Instance instance, HealthCache& cache, milliseconds health_restart)
      : info(std::move(instance)),
        channel(Dial(info.endpoint, false)),
        cache_(cache),
        health_restart_(health_restart),
        connection_([this](const std::stop_token& stop) { Connect(stop); }),
        health_([this](const std::stop_token& stop) { WatchHealth(stop); }) {}

  bool connected() const { return channel->GetState(false) == GRPC_CHANNEL_READY; }

  const Kubelet::Instance info;
  const std::shared_ptr<grpc::Channel> channel;

 private:
  // Drives the connection: gRPC C++ connects, and sees a disconnect, only while somebody waits.
  void Connect(const std::stop_token& stop) {
    while (!stop.stop_requested()) channel->WaitForStateChange(channel->GetState(true), In(milliseconds(20)));
  }

  void WatchHealth(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      grpc::StatusCode end = grpc::StatusCode::UNIMPLEMENTED;
      if (info.health_service == "v1.DRAResourceHealth") {
        end = Watch<v1::DRAResourceHealth::Stub, v1::NodeWatchResourcesResponse>(stop);
      } else if (info.health_service == "v1alpha1.DRAResourceHealth") {
        end = Watch<v1alpha1::DRAResourceHealth::Stub, v1alpha1::NodeWatchResourcesResponse>(stop);
      }
      if (end == grpc::StatusCode::UNIMPLEMENTED) return;
      WaitFor(stop, health_restart_);
    }
  }

  template <class Stub, class Response>
  grpc::StatusCode Watch(const std::stop_token& stop) {
    grpc::ClientContext context;
    const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
    Stub stub(channel);
    const auto reader = stub.NodeWatchResources(&context, {});
    Response response;
    while (reader->Read(&response)) cache_.Put(info.driver, response);
    const grpc::Status status = reader->Finish();
    cache_.Clear(info.driver);
    return status.error_code();
  }

  HealthCache& cache_;
  const milliseconds health_restart_;
  std::jthread connection_, health_;  // Last: join first.
};

}  // namespace

// ---- The kubelet ----------------------------------------------------------------------------------------------------

class Kubelet::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {
    if (options_.pod_resources) pod_resources_ = std::make_unique<PodResourcesServer>(*options_.pod_resources);
    Begin();
  }
  ~Impl() { End(); }

  void Restart() {
    End();
    Begin();
  }

  void Refuse(std::string text) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(text);
  }

  std::vector<Instance> Instances(const std::string& driver) const {
    const std::lock_guard lock(mutex_);
    std::vector<Instance> instances;
    for (const auto& plugin : plugins_) {
      if (plugin->info.driver != driver) continue;
      instances.push_back(plugin->info);
      instances.back().connected = plugin->connected();
    }
    return instances;
  }

  std::vector<std::string> Log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  // The most recently registered one that is connected, else the most recent.
  std::shared_ptr<Plugin> Choose(const std::string& driver) const {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Plugin> choice;
    for (const auto& plugin : plugins_) {
      if (plugin->info.driver != driver) continue;
      if (!choice || plugin->connected() || !choice->connected()) choice = plugin;
    }
    return choice;
  }

  const HealthCache& health() const { return health_; }
  PodResourcesServer* pod_resources() { return pod_resources_.get(); }

 private:
  // What is known of a socket path besides its existence.
  struct Attempt {
    std::uint64_t number = 0;  // The creation that is registered; 0: none.
    milliseconds delay{0};
    SteadyTime not_before;
  };

  void Begin() {
    if (options_.on_wipe) options_.on_wipe("");
    worker_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  void End() {
    worker_ = {};
    std::vector<std::shared_ptr<Plugin>> gone;
    const std::lock_guard lock(mutex_);
    gone.swap(plugins_);
    attempts_.clear();
    lost_.clear();
  }

  void Run(const std::stop_token& stop) {
    Watcher watcher(options_.registry);
    while (!stop.stop_requested()) {
      Reconcile(watcher.sockets());
      CheckWipes();
      watcher.Wait(options_.tick);
    }
  }

  // Unregistrations first. A socket that was made again is registered one tick after its predecessor has gone.
  void Reconcile(const std::map<fs::path, std::uint64_t>& sockets) {
    std::set<fs::path> left;
    for (auto& [path, attempt] : attempts_) {
      const auto found = sockets.find(path);
      if (attempt.number == 0 || (found != sockets.end() && found->second == attempt.number)) continue;
      Unregister(path);
      attempt.number = 0;
      left.insert(path);
    }
    std::erase_if(attempts_, [&](const auto& entry) { return !sockets.contains(entry.first); });
    for (const auto& [path, number] : sockets) {
      Attempt& attempt = attempts_[path];
      if (attempt.number != 0 || left.contains(path) || std::chrono::steady_clock::now() < attempt.not_before) continue;
      if (Register(path)) {
        attempt = {.number = number, .delay = milliseconds(0), .not_before = {}};
      } else {
        attempt.delay = attempt.delay.count() == 0 ? options_.retry : std::min(attempt.delay * 2, kMaxRetry);
        attempt.not_before = std::chrono::steady_clock::now() + attempt.delay;
      }
    }
  }

  // Whether the socket now counts as registered; otherwise it is tried again.
  bool Register(const fs::path& socket) {
    const auto channel = Dial(socket.native(), true);
    if (!channel->WaitForConnected(In(options_.dial_timeout))) return Fail(socket, "dial failed at socket");
    pluginregistration::Registration::Stub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(In(kGetInfoTimeout));
    pluginregistration::PluginInfo info;
    if (const grpc::Status status = stub.GetInfo(&context, {}, &info); !status.ok()) {
      return Fail(socket, "failed to get plugin info using RPC GetInfo: " + Words(status));
    }
    if (info.type() != "DRAPlugin") {
      return Tell(stub, socket, Format("no handler registered for plugin type: {}", info.type())) && false;
    }
    Instance instance{.driver = info.name(),
                      .endpoint = info.endpoint().empty() ? socket.native() : info.endpoint(),
                      .service = ChooseService(info),
                      .health_service = ChooseHealth(info),
                      .socket = socket};
    if (instance.service.empty()) {
      return Tell(stub, socket,
                  "plugin validation failed with err: none of services supported by the plugin are supported by the "
                  "kubelet") &&
             false;
    }
    if (const std::string fault = CheckEndpoint(instance); !fault.empty()) {
      Tell(stub, socket, "plugin registration failed with err: " + fault);
      return options_.release == Release::k1_34;  // Stays marked as registered: only a new socket helps.
    }
    const std::string line =
        Format("Registered DRA plugin {} at {} with {}", instance.driver, instance.endpoint, instance.service);
    auto plugin = std::make_shared<Plugin>(std::move(instance), health_, options_.health_restart);
    {
      const std::lock_guard lock(mutex_);
      plugins_.push_back(std::move(plugin));
      log_.push_back(line);
    }
    if (Tell(stub, socket, {}) || options_.release == Release::k1_34) return true;
    Unregister(socket);
    return false;
  }

  // The first entry of the plugin's list that this kubelet speaks.
  std::string ChooseService(const pluginregistration::PluginInfo& info) const {
    for (const std::string& service : info.supported_versions()) {
      if (std::ranges::find(options_.dra_services, service) != options_.dra_services.end()) return service;
    }
    return {};
  }

  // 1.37: the first of its own list that the plugin has. Before: v1alpha1, advertised or not.
  std::string ChooseHealth(const pluginregistration::PluginInfo& info) const {
    if (!options_.watch_health) return {};
    if (options_.release == Release::k1_34) return "v1alpha1.DRAResourceHealth";
    for (const char* service : {"v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"}) {
      if (std::ranges::find(info.supported_versions(), service) != info.supported_versions().end()) return service;
    }
    return {};
  }

  std::string CheckEndpoint(const Instance& instance) const {
    const std::lock_guard lock(mutex_);
    if (!refusal_.empty()) return refusal_;
    const bool taken = std::ranges::any_of(plugins_, [&](const auto& plugin) {
      return plugin->info.driver == instance.driver && plugin->info.endpoint == instance.endpoint;
    });
    if (!taken) return {};
    return Format("endpoint {} already registered for DRA driver plugin {}", instance.endpoint, instance.driver);
  }

  // NotifyRegistrationStatus: success when `error` is empty. Whether the plugin took it.
  bool Tell(pluginregistration::Registration::Stub& stub, const fs::path& socket, const std::string& error) {
    if (!error.empty()) Fail(socket, error);
    grpc::ClientContext context;
    context.set_deadline(In(kNotifyTimeout));
    pluginregistration::RegistrationStatus request;
    request.set_plugin_registered(error.empty());
    request.set_error(error);
    pluginregistration::RegistrationStatusResponse response;
    const grpc::Status status = stub.NotifyRegistrationStatus(&context, request, &response);
    if (!status.ok()) Fail(socket, "failed to send registration status: " + Words(status));
    return status.ok();
  }

  bool Fail(const fs::path& socket, const std::string& why) {
    const std::lock_guard lock(mutex_);
    log_.push_back(Format("RegisterPlugin error -- {}: {}", socket.native(), why));
    return false;
  }

  void Unregister(const fs::path& socket) {
    std::vector<std::shared_ptr<Plugin>> gone;  // Dropped outside the lock: it waits for its threads.
    const std::lock_guard lock(mutex_);
    std::erase_if(plugins_, [&](const std::shared_ptr<Plugin>& plugin) {
      if (plugin->info.socket != socket) return false;
      log_.push_back(Format("Unregistered DRA plugin {} at {}", plugin->info.driver, plugin->info.endpoint));
      lost_.try_emplace(plugin->info.driver, std::chrono::steady_clock::now());
      gone.push_back(plugin);
      return true;
    });
  }

  // A driver without a connected instance loses its slices after the grace.
  void CheckWipes() {
    std::vector<std::string> wiped;
    {
      const std::lock_guard lock(mutex_);
      const SteadyTime now = std::chrono::steady_clock::now();
      for (const auto& plugin : plugins_) lost_.try_emplace(plugin->info.driver, now);
      for (const auto& plugin : plugins_) {
        if (plugin->connected()) lost_[plugin->info.driver] = now;
      }
      std::erase_if(lost_, [&](const auto& entry) {
        if (now < entry.second + options_.wipe_grace) return false;
        wiped.push_back(entry.first);
        return true;
      });
      for (const std::string& driver : wiped) log_.push_back("Deleted ResourceSlices of " + driver);
    }
    if (!options_.on_wipe) return;
    for (const std::string& driver : wiped) options_.on_wipe(driver);
  }

  const Options options_;
  HealthCache health_;
  std::unique_ptr<PodResourcesServer> pod_resources_;

  mutable std::mutex mutex_;  // Guards the five below.
  std::vector<std::shared_ptr<Plugin>> plugins_;
  std::map<std::string, SteadyTime> lost_;  // When each driver was last seen connected.
  std::string refusal_;
  std::vector<std::string> log_;

  std::map<fs::path, Attempt> attempts_;  // The worker's.
  std::jthread worker_;                   // Last: joins first.
};

Kubelet::Kubelet(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Kubelet::~Kubelet() = default;

std::vector<Kubelet::Instance> Kubelet::Instances(const std::string& driver) const { return impl_->Instances(driver); }

bool Kubelet::WaitForInstances(const std::string& driver, std::size_t count, milliseconds timeout) const {
  const auto ready = [&] {
    const std::vector<Instance> instances = Instances(driver);
    return instances.size() == count && std::ranges::all_of(instances, &Instance::connected);
  };
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!ready()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

void Kubelet::Restart() { impl_->Restart(); }
void Kubelet::Refuse(std::string text) { impl_->Refuse(std::move(text)); }
std::vector<std::string> Kubelet::Log() const { return impl_->Log(); }

Kubelet::Answer Kubelet::Prepare(const std::string& driver, const std::vector<Claim>& claims, milliseconds timeout) {
  const auto plugin = impl_->Choose(driver);
  if (!plugin) return {.error = Format("DRA driver {} is not registered", driver), .claims = {}};
  if (plugin->info.service == "v1.DRAPlugin") {
    return CallDriver(plugin->channel, &dra_v1::DRAPlugin::Stub::NodePrepareResources, "NodePrepareResources", claims,
                      timeout);
  }
  return CallDriver(plugin->channel, &dra_v1beta1::DRAPlugin::Stub::NodePrepareResources, "NodePrepareResources",
                    claims, timeout);
}

Kubelet::Answer Kubelet::Unprepare(const std::string& driver, const std::vector<Claim>& claims, milliseconds timeout) {
  const auto plugin = impl_->Choose(driver);
  if (!plugin) return {.error = Format("DRA driver {} is not registered", driver), .claims = {}};
  if (plugin->info.service == "v1.DRAPlugin") {
    return CallDriver(plugin->channel, &dra_v1::DRAPlugin::Stub::NodeUnprepareResources, "NodeUnprepareResources",
                      claims, timeout);
  }
  return CallDriver(plugin->channel, &dra_v1beta1::DRAPlugin::Stub::NodeUnprepareResources, "NodeUnprepareResources",
                    claims, timeout);
}

std::map<std::string, Kubelet::DeviceHealth> Kubelet::Health(const std::string& driver) const {
  return impl_->health().Get(driver);
}
std::uint64_t Kubelet::HealthReports(const std::string& driver) const { return impl_->health().reports(driver); }

void Kubelet::SetPodResources(std::vector<HeldDevices> held) {
  if (impl_->pod_resources() == nullptr) Abort("SetPodResources() needs Options::pod_resources");
  impl_->pod_resources()->Set(std::move(held));
}

}  // namespace tessera::tests
