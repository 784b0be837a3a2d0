// kubelet/served_socket.h: a gRPC server on a unix socket with a name and permissions that are ours to decide.
#pragma once

#include <grpcpp/server.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "kubelet/unix_socket.h"

namespace tessera::kubelet {

// "unix:<path>" as gRPC reads it: as a URI, so that a percent sign in a path must be written as one.
std::string SocketTarget(const std::filesystem::path& path);

// Binding and unlinking are not left to gRPC: when its server ends it unlinks whatever has the name by then, which
// during a hand-over is the next instance's socket. So gRPC binds a hidden name, which is then renamed.
class ServedSocket {
 public:
  struct Options {
    std::filesystem::path path;
    std::span<grpc::Service* const> services;  // Callback services; must outlive this.
    int max_message = 4 << 20;                 // As in Go.
    int max_streams = 256;                     // Calls at a time on one connection.
    std::optional<std::uint16_t> port = {};    // Listens on TCP as well; 0 is any.
  };
  // Replaces a socket of the same name, alive or not. The directory must exist; anything else of that name is an error.
  static Result<std::unique_ptr<ServedSocket>> Open(const Options& options);
  ~ServedSocket() { Close(); }

  // Takes the name away, when it is still ours. Open connections go on.
  void Unlink();
  // Unlinks, gives answers under way a second to leave, cancels the rest, and waits until all reactors are done. Not to
  // be called from one.
  void Close();

  int port() const { return port_; }  // On TCP.

 private:
  ServedSocket(std::unique_ptr<grpc::Server> server, std::filesystem::path path, FileIdentity identity, int port)
      : path_(std::move(path)), identity_(identity), port_(port), server_(std::move(server)) {}

  const std::filesystem::path path_;
  const FileIdentity identity_;
  const int port_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace tessera::kubelet
