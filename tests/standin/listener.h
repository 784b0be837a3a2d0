// tests/standin/listener.h: accepts connections on 127.0.0.1 and gives each a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "tests/standin/tls.h"

namespace tessera::standin {

class Listener {
 public:
  // Called on the connection's thread; the connection ends when it returns. When `stop` is requested the stream is
  // broken as well.
  using Serve = std::function<void(TlsStream& stream, std::stop_token stop)>;

  // Port 0: any. The context must outlive the listener.
  static Result<std::unique_ptr<Listener>> Start(std::uint16_t port, SSL_CTX& context, Serve serve);
  ~Listener();  // Ends and joins everything.

  std::uint16_t port() const { return port_; }
  void CloseConnections();

 private:
  struct Peer {
    Peer(UniqueFd socket, SSL_CTX& context) : stream(std::move(socket), context) {}
    TlsStream stream;
    std::atomic<bool> done = false;
    std::jthread thread;  // Last: joins first.
  };

  Listener(UniqueFd socket, std::uint16_t port, SSL_CTX& context, Serve serve);
  void Accept(const std::stop_token& stop);
  void Add(UniqueFd socket);

  const UniqueFd socket_;
  const std::uint16_t port_;
  SSL_CTX& context_;
  const Serve serve_;

  std::mutex mutex_;  // Guards peers_.
  std::list<Peer> peers_;

  std::jthread acceptor_;  // Last: joins first.
};

}  // namespace tessera::standin
