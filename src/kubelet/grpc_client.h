// kubelet/grpc_client.h: one call to somebody else's socket.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace tessera::kubelet {

// A connection of its own to `path`. Transient "NobodyListens" when the socket is dead or absent.
Result<std::shared_ptr<grpc::Channel>> OpenChannel(const std::filesystem::path& path);

// What a call that was not answered with OK means to us: always transient. `doing`: "asking /x what it is".
Result<void> CheckStatus(const grpc::Status& status, std::string_view doing);

// Metadata of our own calls, by which they are told from a kubelet's.
inline constexpr char kOwnCall[] = "tessera-call";

// Runs one unary call: the generated stub's method, within `timeout`.
template <class Stub, class Request, class Response>
Result<Response> Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      const Request& request, std::chrono::milliseconds timeout, std::string_view doing) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  context.AddMetadata(kOwnCall, "1");
  Response response;
  TESSERA_TRY(CheckStatus((stub.*method)(&context, request, &response), doing));
  return response;
}

}  // namespace tessera::kubelet
