// tests/standin/tls.h: certificates made at run time, and blocking TLS connections. Written apart from net/, so that
// the code under test and its counterpart cannot share a bug.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace tessera::standin {

template <auto Fn>
struct Deleter {
  void operator()(auto* p) const noexcept { Fn(p); }
};
using SslContext = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;

struct Identity {
  std::string certificate_pem, key_pem;
};

// A certificate authority that lives as long as the test.
class Authority {
 public:
  static Result<Authority> Create();

  const std::string& ca_pem() const { return ca_.certificate_pem; }
  Result<Identity> IssueServer() const;  // For 127.0.0.1 and localhost.
  Result<Identity> IssueClient(std::string_view common_name) const;

 private:
  explicit Authority(Identity ca) : ca_(std::move(ca)) {}
  Identity ca_;
};

enum class ClientCertificates : std::uint8_t {
  kIgnored,   // Not asked for.
  kOptional,  // Verified when there is one.
  kRequired,  // Without one the handshake fails.
};
Result<SslContext> ServerContext(const Identity& identity, const std::string& ca_pem, ClientCertificates clients);
Result<SslContext> ClientContext(const std::string& ca_pem, const Identity* identity = nullptr);

// One connection. One thread reads and writes; any thread may Break() it.
class TlsStream {
 public:
  TlsStream(UniqueFd socket, SSL_CTX& context);
  ~TlsStream();

  bool Accept();   // The server's handshake.
  bool Connect();  // The client's, which verifies that the server is 127.0.0.1.

  std::size_t Read(char* data, std::size_t size);  // Waits for at least one byte. 0: the connection ended.
  bool Write(std::string_view data);               // All of it.
  void Close();                                    // Says goodbye as TLS asks, then as Break().
  void Break();                                    // Ends both directions at once; a Read() under way returns.

  bool peer_has_certificate() const;
  bool PeerIsGone() const;  // The peer closed, as far as the kernel knows; reads nothing.

 private:
  using Session = std::unique_ptr<SSL, Deleter<SSL_free>>;
  UniqueFd socket_;
  Session session_;
};

// A connected TCP socket to 127.0.0.1.
Result<UniqueFd> ConnectLoopback(std::uint16_t port);

}  // namespace tessera::standin
