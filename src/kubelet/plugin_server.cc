#include "kubelet/plugin_server.h"

#include <proto/dra_v1.grpc.pb.h>

#include <array>
#include <mutex>

#include "base/log.h"
#include "base/text.h"
#include "kubelet/claim_calls.h"
#include "kubelet/dra_service.h"
#include "kubelet/grpc_client.h"
#include "kubelet/health_streams.h"
#include "kubelet/neighbours.h"
#include "kubelet/registrar.h"
#include "kubelet/served_socket.h"

namespace tessera::kubelet {

class PluginServer::Impl {
 public:
  Impl(const PluginOptions& options, SocketPaths paths, ClaimHandler& handler)
      : paths_(std::move(paths)),
        health_({.resend = options.health_resend, .max_age = options.health_max_age}),
        dra_v1_(MakeDraV1(handler, calls_, options.kep5322)),
        dra_v1beta1_(MakeDraV1beta1(handler, calls_)),
        health_v1_(MakeHealthV1(health_)),
        health_v1alpha1_(MakeHealthV1alpha1(health_)),
        registrar_({.driver_name = options.driver_name,
                    .socket = paths_.registration,
                    .endpoint = paths_.service,
                    .refused_delay = options.refused_delay,
                    .on_change = options.on_registration}) {}

  Result<void> Serve() {
    const std::array<grpc::Service*, 4> services{dra_v1_.get(), dra_v1beta1_.get(), health_v1_.get(),
                                                 health_v1alpha1_.get()};
    TESSERA_ASSIGN(served_, ServedSocket::Open({.path = paths_.service, .services = services}));
    return {};
  }

  Registrar& registrar() { return registrar_; }
  HealthStreams& health() { return health_; }

  // 1. The kubelet is told to forget us, and 2. what comes nevertheless is refused. 3. What runs may end, then 4. it is
  // ended. 5. Only then the connections go: an answer that is written must reach the kubelet.
  void Stop(std::chrono::milliseconds grace) {
    const std::lock_guard lock(stopping_);
    registrar_.Close();
    calls_->Stop();
    health_.Close();
    calls_->WaitUntilIdle(grace);
    calls_->EndAll();
    served_.reset();
  }

  Result<void> Probe(std::chrono::milliseconds timeout) {
    if (registrar_.state().state != Registration::kNone) {
      const auto info = AskPlugin(paths_.registration, timeout);
      if (!info.has_value()) return std::unexpected(info.error());
    }
    namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;
    using Stub = dra::DRAPlugin::Stub;
    TESSERA_ASSIGN(const auto channel, OpenChannel(paths_.service));
    Stub stub(channel);
    TESSERA_TRY(Call(stub, &Stub::NodePrepareResources, dra::NodePrepareResourcesRequest(), timeout,
                     Format("asking {} to prepare nothing", paths_.service.native())));
    return {};
  }

 private:
  const SocketPaths paths_;
  const std::shared_ptr<ClaimCalls> calls_ = std::make_shared<ClaimCalls>();
  HealthStreams health_;
  const std::unique_ptr<grpc::Service> dra_v1_, dra_v1beta1_, health_v1_, health_v1alpha1_;
  Registrar registrar_;
  std::mutex stopping_;  // One Stop() at a time.
  std::unique_ptr<ServedSocket> served_;
};

PluginServer::PluginServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PluginServer::~PluginServer() { Stop(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<PluginServer>> PluginServer::Start(const PluginOptions& options, ClaimHandler& handler) {
  TESSERA_ASSIGN(SocketPaths paths, MakeSocketPaths(options));
  auto impl = std::make_unique<Impl>(options, std::move(paths), handler);
  TESSERA_TRY(impl->Serve());
  return std::unique_ptr<PluginServer>(new PluginServer(std::move(impl)));
}

Result<void> PluginServer::Register() { return impl_->registrar().Open(); }
void PluginServer::Unregister() { impl_->registrar().Close(); }
RegistrationState PluginServer::registration() const { return impl_->registrar().state(); }
void PluginServer::SetHealth(std::vector<DeviceHealth> devices, std::chrono::steady_clock::time_point as_of) {
  impl_->health().Set(std::move(devices), as_of);
}
std::size_t PluginServer::health_streams() const { return impl_->health().count(); }
void PluginServer::Stop(std::chrono::milliseconds grace) { impl_->Stop(grace); }
Result<void> PluginServer::Probe(std::chrono::milliseconds timeout) { return impl_->Probe(timeout); }

}  // namespace tessera::kubelet
