// net/connection.h: one TCP connection, with TLS or without, driven by the thread that calls. Internal to net/.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "net/http_client.h"
#include "net/resolve.h"
#include "net/tls.h"

namespace tessera::net {

// How long a call may take: until `deadline`, or until `stop` is requested.
struct Patience {
  Deadline deadline;
  std::stop_token stop;
};

// Not safe for concurrent calls. Of no further use after an error. Never raises SIGPIPE.
class Connection {
 public:
  // Tries the addresses in turn, each with its share of the time. `context` null: plain TCP.
  static Result<std::unique_ptr<Connection>> Open(std::span<const Address> addresses, const std::string& name,
                                                  SSL_CTX* context, const std::string& server_name,
                                                  const Patience& patience);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Result<void> Write(std::string_view data, const Patience& patience);

  // What has come, at least one byte; 0 when the peer has ended the connection properly. With TLS an end without
  // close_notify is an error: somebody else may have cut it.
  Result<std::size_t> Read(std::span<char> into, const Patience& patience);

  // Whether something came while nothing was asked, which can only be the end.
  bool HasEnded() const;

 private:
  explicit Connection(const std::string& name) : name_(name) {}

  Result<void> Connect(const Address& address, const Patience& patience);
  Result<void> Handshake(SSL_CTX& context, const std::string& server_name, const Patience& patience);
  Result<void> Wait(short events, std::string_view doing, const Patience& patience) const;
  // Waits for what OpenSSL wants, or says why it gave up.
  Result<void> WaitForTls(int result, std::string_view doing, const Patience& patience);
  ssize_t Receive(char* into, std::size_t size);
  ssize_t Send(const char* data, std::size_t size) const;
  Error Broken(int number, std::string_view doing) const;

  static BIO_METHOD* SocketMethod();

  const std::string& name_;  // "10.0.0.1:443", for messages; the client's.
  UniqueFd socket_;
  UniqueFd wake_;        // An eventfd that a stop request writes to.
  bool drained_ = true;  // The last receive took all there was: wait before the next.
  SslSession ssl_;
};

}  // namespace tessera::net
