#include "kubelet/dra_service.h"

#include <proto/dra_v1.grpc.pb.h>
#include <proto/dra_v1beta1.grpc.pb.h>

#include "base/error_codes.h"
#include "base/text.h"
#include "kubelet/answers.h"
#include "kubelet/utf8.h"

namespace tessera::kubelet {
namespace {

namespace v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

// What differs between the versions by name only.
struct ApiV1 {
  using Service = v1::DRAPlugin::CallbackService;
  using PrepareRequest = v1::NodePrepareResourcesRequest;
  using PrepareResponse = v1::NodePrepareResourcesResponse;
  using UnprepareRequest = v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = v1::NodeUnprepareResourcesResponse;
};
struct ApiV1beta1 {
  using Service = v1beta1::DRAPlugin::CallbackService;
  using PrepareRequest = v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest = v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = v1beta1::NodeUnprepareResourcesResponse;
};

std::vector<api::ClaimRef> ReadClaims(const auto& request) {
  std::vector<api::ClaimRef> claims;
  claims.reserve(static_cast<std::size_t>(request.claims_size()));
  for (const auto& claim : request.claims()) claims.push_back({claim.namespace_(), claim.name(), claim.uid()});
  return DistinctClaims(std::move(claims));
}

void WriteDevice(const api::PreparedDevice& device, auto& out) {
  for (const std::string& request : device.requests) out.add_request_names(ToUtf8(request));
  out.set_pool_name(ToUtf8(device.pool));
  out.set_device_name(ToUtf8(device.name));
  for (const std::string& id : device.cdi_ids) out.add_cdi_device_ids(ToUtf8(id));
  if constexpr (requires { out.set_share_id(std::string()); }) {
    if (device.share_id) out.set_share_id(ToUtf8(*device.share_id));
  }
}

void WritePrepared(const ClaimAnswer& answer, bool kep5322, auto& out) {
  if (!answer.error) {
    for (const api::PreparedDevice& device : answer.devices) WriteDevice(device, *out.add_devices());
    return;
  }
  out.set_error(ErrorText(*answer.error));
  if constexpr (requires { out.set_error_type(1); }) {
    if (kep5322 && FailsForGood(*answer.error)) out.set_error_type(1);
  }
}

Deadline DeadlineOf(const grpc::CallbackServerContext& context) {
  using std::chrono::system_clock;
  const auto client = context.deadline();  // The end of time when the client set none.
  const auto timeout = client == system_clock::time_point::max()
                           ? std::chrono::nanoseconds::max()
                           : std::chrono::nanoseconds(client - system_clock::now());
  return HandlerDeadline(timeout, Deadline::clock::now());
}

template <class Api>
class DraService final : public Api::Service {
 public:
  DraService(ClaimHandler& handler, std::shared_ptr<ClaimCalls> calls, bool kep5322)
      : handler_(handler), calls_(std::move(calls)), kep5322_(kep5322) {}

  grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context,
                                                 const typename Api::PrepareRequest* request,
                                                 typename Api::PrepareResponse* response) override {
    return Run(*context, *request, &ClaimHandler::Prepare, [response, field = kep5322_](const ClaimAnswer& answer) {
      WritePrepared(answer, field, (*response->mutable_claims())[answer.uid]);
    });
  }

  grpc::ServerUnaryReactor* NodeUnprepareResources(grpc::CallbackServerContext* context,
                                                   const typename Api::UnprepareRequest* request,
                                                   typename Api::UnprepareResponse* response) override {
    return Run(*context, *request, &ClaimHandler::Unprepare, [response](const ClaimAnswer& answer) {
      auto& out = (*response->mutable_claims())[answer.uid];
      if (answer.error) out.set_error(ErrorText(*answer.error));
    });
  }

 private:
  using Method = void (ClaimHandler::*)(std::vector<api::ClaimRef>, Deadline, Done);

  grpc::ServerUnaryReactor* Run(const grpc::CallbackServerContext& context, const auto& request, Method method,
                                std::function<void(const ClaimAnswer&)> write) {
    if (request.claims_size() > kMaxClaims) {
      return ClaimCalls::Refuse({grpc::StatusCode::RESOURCE_EXHAUSTED,
                                 Format("{} claims in one call; at most {}", request.claims_size(), kMaxClaims)});
    }
    std::vector<api::ClaimRef> claims = ReadClaims(request);
    auto fill = [asked = claims, write = std::move(write)](Answers given) {
      for (const ClaimAnswer& answer : MatchAnswers(asked, std::move(given))) write(answer);
    };
    return calls_->Begin(std::move(fill), [&](Done done) {
      (handler_.*method)(std::move(claims), DeadlineOf(context), std::move(done));
    });
  }

  ClaimHandler& handler_;
  const std::shared_ptr<ClaimCalls> calls_;
  const bool kep5322_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeDraV1(ClaimHandler& handler, std::shared_ptr<ClaimCalls> calls, bool kep5322) {
  return std::make_unique<DraService<ApiV1>>(handler, std::move(calls), kep5322);
}

std::unique_ptr<grpc::Service> MakeDraV1beta1(ClaimHandler& handler, std::shared_ptr<ClaimCalls> calls) {
  return std::make_unique<DraService<ApiV1beta1>>(handler, std::move(calls), false);
}

}  // namespace tessera::kubelet
