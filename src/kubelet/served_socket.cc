#include "kubelet/served_socket.h"

#include <grpc/support/log.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <mutex>

#include "base/log.h"
#include "base/text.h"

namespace tessera::kubelet {
namespace {

namespace fs = std::filesystem;

// gRPC's own words are details of errors that we report ourselves.
void RouteGrpcLog() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function([](gpr_log_func_args* args) {
      log::Verbose(4, "gRPC", {{"message", args->message}, {"file", args->file}, {"line", args->line}});
    });
  });
}

// Seven characters, so never longer than the names it stands in for ("dra.sock").
Result<fs::path> HiddenName(const fs::path& directory) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz012345";
  std::array<unsigned char, 4> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return FromErrno(errno, "RandomFailed", "asking for random bytes");
  }
  std::string name = Format("{}-", kHiddenPrefix);
  for (const unsigned char byte : random) name += kLetters[byte % kLetters.size()];
  return directory / name;
}

Result<void> CheckPlace(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path.parent_path(), error)) {
    return BadConfig("DirectoryMissing",
                     Format("{} is no directory, so no socket can be made in it", path.parent_path().native()),
                     "create it, or mount it into the container at the same path");
  }
  if (path.native().size() > kMaxSocketPath) {
    return BadConfig("SocketPathTooLong", Format("{} is longer than {} bytes", path.native(), kMaxSocketPath));
  }
  if (fs::exists(fs::symlink_status(path, error)) && !SocketAt(path)) {
    return BadConfig("NotASocket", Format("{} is in the way: it is no socket", path.native()), "remove it");
  }
  return {};
}

void LimitServer(grpc::ServerBuilder& builder, const ServedSocket::Options& options) {
  builder.SetMaxReceiveMessageSize(options.max_message);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // Or two processes would share one port without a word.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0);
  // The kubelet does not compress, and a small message that becomes a large one is of use to nobody.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
}

// Gives the socket its permissions, then its name: nobody sees it without them. An older one is unlinked first, so that
// the kubelet sees a removal and a creation.
Result<void> Publish(const fs::path& hidden, const fs::path& path) {
  if (::chmod(hidden.c_str(), 0600) != 0) return FromErrno(errno, "SocketFailed", Format("chmod {}", hidden.native()));
  if (SocketAt(path)) ::unlink(path.c_str());
  if (::rename(hidden.c_str(), path.c_str()) == 0) return {};
  return FromErrno(errno, "SocketFailed", Format("renaming {} to {}", hidden.native(), path.native()));
}

}  // namespace

std::string SocketTarget(const fs::path& path) {
  std::string target = "unix:";
  for (const char c : path.native()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-~").contains(c);
    target += plain ? std::string(1, c) : Format("%{:02X}", static_cast<unsigned char>(c));
  }
  return target;
}

Result<std::unique_ptr<ServedSocket>> ServedSocket::Open(const Options& options) {
  RouteGrpcLog();
  TESSERA_TRY(CheckPlace(options.path));
  TESSERA_ASSIGN(const fs::path hidden, HiddenName(options.path.parent_path()));
  grpc::ServerBuilder builder;
  LimitServer(builder, options);
  for (grpc::Service* service : options.services) builder.RegisterService(service);
  builder.AddListeningPort(SocketTarget(hidden), grpc::InsecureServerCredentials());
  int port = 0;
  if (options.port) {
    builder.AddListeningPort(Format("[::]:{}", *options.port), grpc::InsecureServerCredentials(), &port);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const std::optional<FileIdentity> identity = SocketAt(hidden);
  if (!server || !identity) {
    const std::string also = options.port ? Format(" and on TCP port {}", *options.port) : "";
    return Transient("ListenFailed", Format("cannot listen in {}{}", options.path.parent_path().native(), also),
                     "check that the directory is writable and the port is free; -v=4 shows gRPC's words");
  }
  std::unique_ptr<ServedSocket> served(new ServedSocket(std::move(server), options.path, *identity, port));
  if (auto published = Publish(hidden, options.path); !published.has_value()) {
    UnlinkIf(hidden, *identity);
    return std::unexpected(std::move(published).error());
  }
  return served;
}

void ServedSocket::Unlink() { UnlinkIf(path_, identity_); }

void ServedSocket::Close() {
  if (!server_) return;
  Unlink();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  server_.reset();
}

}  // namespace tessera::kubelet
