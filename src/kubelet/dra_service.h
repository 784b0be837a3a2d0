// kubelet/dra_service.h: the DRAPlugin service in both versions, as one implementation.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "kubelet/claim_calls.h"
#include "kubelet/plugin_server.h"

namespace tessera::kubelet {

// A kubelet sends the claims of one pod.
inline constexpr int kMaxClaims = 1024;

// `kep5322`: see PluginOptions. Both must be dropped before `handler`.
std::unique_ptr<grpc::Service> MakeDraV1(ClaimHandler& handler, std::shared_ptr<ClaimCalls> calls, bool kep5322);
std::unique_ptr<grpc::Service> MakeDraV1beta1(ClaimHandler& handler, std::shared_ptr<ClaimCalls> calls);

}  // namespace tessera::kubelet
