#include "kubelet/grpc_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "base/text.h"
#include "kubelet/served_socket.h"
#include "kubelet/unix_socket.h"
#include "kubelet/utf8.h"

namespace tessera::kubelet {

Result<std::shared_ptr<grpc::Channel>> OpenChannel(const std::filesystem::path& path) {
  TESSERA_TRY(CheckListener(path));
  grpc::ChannelArguments arguments;
  // Otherwise channels to one address share a connection, and its backoff.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  arguments.SetMaxReceiveMessageSize(16 << 20);  // What the kubelet's PodResources server may send.
  return grpc::CreateCustomChannel(SocketTarget(path), grpc::InsecureChannelCredentials(), arguments);
}

Result<void> CheckStatus(const grpc::Status& status, std::string_view doing) {
  if (status.ok()) return {};
  const std::string words = ToUtf8(status.error_message(), 1024);
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Transient("CallTimedOut", Format("{}: no answer in time", doing));
    case grpc::StatusCode::UNIMPLEMENTED:
      return Transient("CallNotImplemented", Format("{}: not implemented there: {}", doing, words));
    default:
      return Transient("CallFailed",
                       Format("{}: gRPC status {}: {}", doing, static_cast<int>(status.error_code()), words));
  }
}

}  // namespace tessera::kubelet
