#include "kubelet/registrar.h"

#include <grpcpp/server_context.h>
#include <proto/plugin_registration.grpc.pb.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "kubelet/grpc_client.h"
#include "kubelet/served_socket.h"
#include "kubelet/utf8.h"

namespace tessera::kubelet {
namespace {

constexpr std::chrono::milliseconds kMaxDelay = std::chrono::minutes(2);
constexpr std::size_t kMaxUntold = 64;   // Then the oldest is forgotten: only the latest matters.
constexpr std::size_t kMaxWords = 1024;  // Of what the kubelet says.
constexpr int kMaxMessage = 64 << 10;

// The kubelet takes the first DRAPlugin version of this list that it knows (not the newest), and the first health
// version of its own list.
constexpr std::array kServices{"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                               "v1alpha1.DRAResourceHealth"};

}  // namespace

// Answers from memory: the kubelet waits one second for GetInfo, and takes a failed notification for a refusal.
class Registrar::Service final : public pluginregistration::Registration::CallbackService {
 public:
  explicit Service(Registrar& registrar) : registrar_(registrar) {
    info_.set_type("DRAPlugin");
    info_.set_name(registrar.options_.driver_name);
    info_.set_endpoint(registrar.options_.endpoint.native());
    for (const char* service : kServices) info_.add_supported_versions(service);
  }

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const pluginregistration::InfoRequest*,
                                    pluginregistration::PluginInfo* response) override {
    if (!context->client_metadata().contains(kOwnCall)) registrar_.CountAttempt();
    *response = info_;
    return Ok(*context);
  }

  grpc::ServerUnaryReactor* NotifyRegistrationStatus(grpc::CallbackServerContext* context,
                                                     const pluginregistration::RegistrationStatus* request,
                                                     pluginregistration::RegistrationStatusResponse*) override {
    registrar_.Heard(request->plugin_registered(), ToUtf8(request->error(), kMaxWords));
    return Ok(*context);
  }

 private:
  static grpc::ServerUnaryReactor* Ok(grpc::CallbackServerContext& context) {
    grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  Registrar& registrar_;
  pluginregistration::PluginInfo info_;
};

class Registrar::Socket {
 public:
  explicit Socket(Registrar& registrar) : service_(registrar) {}

  Result<void> Open(const std::filesystem::path& path) {
    const std::array<grpc::Service*, 1> services{&service_};
    TESSERA_ASSIGN(served_, ServedSocket::Open({.path = path, .services = services, .max_message = kMaxMessage}));
    return {};
  }

 private:
  Service service_;
  std::unique_ptr<ServedSocket> served_;
};

Registrar::Registrar(Options options)
    : options_(std::move(options)),
      delay_(options_.refused_delay),
      worker_([this](const std::stop_token& stop) { Run(stop); }) {}

Registrar::~Registrar() = default;

Result<void> Registrar::Open() {
  const std::lock_guard lifecycle(lifecycle_);
  CloseSocket();
  TESSERA_TRY(OpenSocket());
  const std::lock_guard lock(mutex_);
  delay_ = options_.refused_delay;
  return {};
}

void Registrar::Close() {
  const std::lock_guard lifecycle(lifecycle_);
  CloseSocket();
  const std::lock_guard lock(mutex_);
  Change(Registration::kNone, {});
}

RegistrationState Registrar::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Result<void> Registrar::OpenSocket() {
  {
    // Before the socket appears: the kubelet may be quicker than we are.
    const std::lock_guard lock(mutex_);
    Change(Registration::kWaiting, {});
  }
  auto socket = std::make_unique<Socket>(*this);
  if (auto opened = socket->Open(options_.socket); !opened.has_value()) {
    const std::lock_guard lock(mutex_);
    Change(Registration::kNone, {});
    return opened;
  }
  socket_ = std::move(socket);
  return {};
}

void Registrar::CloseSocket() {
  socket_.reset();
  const std::lock_guard lock(mutex_);
  reopen_at_.reset();
}

void Registrar::CountAttempt() {
  const std::lock_guard lock(mutex_);
  ++state_.attempts;
}

void Registrar::Heard(bool registered, std::string error) {
  const std::lock_guard lock(mutex_);
  if (registered) {
    delay_ = options_.refused_delay;
    reopen_at_.reset();
    Change(Registration::kRegistered, {});
  } else {
    ++state_.refusals;
    ScheduleReopen();
    Change(Registration::kRefused, std::move(error));
  }
}

void Registrar::Change(Registration state, std::string error) {
  if (state_.state == state && state_.error == error) return;
  state_.state = state;
  state_.error = std::move(error);
  untold_.push_back(state_);
  if (untold_.size() > kMaxUntold) untold_.pop_front();
  changed_.notify_all();
}

// A new socket is the only way out of a refusal on Kubernetes 1.34 and 1.35, which do not try again by themselves. Later
// kubelets do: their further refusals do not move the time.
void Registrar::ScheduleReopen() {
  if (reopen_at_) return;
  reopen_at_ = std::chrono::steady_clock::now() + delay_;
  delay_ = std::min(delay_ * 2, kMaxDelay);
  changed_.notify_all();
}

void Registrar::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!untold_.empty()) {
      const RegistrationState state = std::move(untold_.front());
      untold_.pop_front();
      lock.unlock();
      Tell(state);
      lock.lock();
    } else if (!reopen_at_) {
      changed_.wait(lock, stop, [this] { return !untold_.empty() || reopen_at_; });
    } else if (std::chrono::steady_clock::now() < *reopen_at_) {
      const auto at = *reopen_at_;
      changed_.wait_until(lock, stop, at, [&] { return !untold_.empty() || reopen_at_ != at; });
    } else {
      lock.unlock();
      Reopen();
      lock.lock();
    }
  }
}

void Registrar::Tell(const RegistrationState& state) const {
  if (state.state == Registration::kRefused) {
    log::Warning("The kubelet refused the registration", {{"driver", options_.driver_name}, {"reason", state.error}});
  } else if (state.state == Registration::kRegistered) {
    log::Info("Registered with the kubelet", {{"driver", options_.driver_name}, {"socket", options_.socket.native()}});
  }
  if (options_.on_change) options_.on_change(state);
}

void Registrar::Reopen() {
  const std::lock_guard lifecycle(lifecycle_);
  {
    const std::lock_guard lock(mutex_);
    if (!reopen_at_) return;  // Closed meanwhile, or registered after all.
  }
  CloseSocket();
  if (const auto opened = OpenSocket(); !opened.has_value()) {
    log::Failure(opened.error(), "Cannot make the registration socket again");
    const std::lock_guard lock(mutex_);
    ScheduleReopen();
  }
}

}  // namespace tessera::kubelet
