#include "tests/standin/listener.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/text.h"

namespace tessera::standin {

Result<std::unique_ptr<Listener>> Listener::Start(std::uint16_t port, SSL_CTX& context, Serve serve) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (!socket || ::bind(socket.get(), generic, size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0) {
    return FromErrno(errno, "StandinListen", Format("listening on 127.0.0.1:{}", port));
  }
  return std::unique_ptr<Listener>(new Listener(std::move(socket), ntohs(address.sin_port), context, std::move(serve)));
}

Listener::Listener(UniqueFd socket, std::uint16_t port, SSL_CTX& context, Serve serve)
    : socket_(std::move(socket)),
      port_(port),
      context_(context),
      serve_(std::move(serve)),
      acceptor_([this](const std::stop_token& stop) { Accept(stop); }) {}

Listener::~Listener() {
  acceptor_.request_stop();
  ::shutdown(socket_.get(), SHUT_RDWR);  // Wakes accept().
  acceptor_.join();
  CloseConnections();
  // From here on only the destructor of peers_ touches them: it joins.
}

void Listener::CloseConnections() {
  const std::lock_guard lock(mutex_);
  for (Peer& peer : peers_) {
    peer.thread.request_stop();
    peer.stream.Break();
  }
}

void Listener::Accept(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) {
      Add(std::move(socket));
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

void Listener::Add(UniqueFd socket) {
  const std::lock_guard lock(mutex_);
  peers_.remove_if([](const Peer& peer) { return peer.done.load(); });
  Peer& peer = peers_.emplace_back(std::move(socket), context_);
  peer.thread = std::jthread([this, &peer](std::stop_token stop) {
    serve_(peer.stream, std::move(stop));
    peer.stream.Break();
    peer.done = true;
  });
}

}  // namespace tessera::standin
