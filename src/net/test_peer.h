// net/test_peer.h: the other side of a connection, for tests: certificates made at run time, and a server that does to
// each connection what a script says.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace tessera::net {

struct TestCertificate {
  std::string certificate_pem, key_pem;
};

struct CertificateOptions {
  std::string names = "DNS:localhost,IP:127.0.0.1";  // As OpenSSL writes a subjectAltName; empty for none.
  bool authority = false;
  int days_left = 10;  // Negative: expired.
};

// Signed by `issuer`, or by itself.
TestCertificate MakeCertificate(const CertificateOptions& options, const TestCertificate* issuer = nullptr);

// An authority and one server certificate, made once for all tests of a program.
const TestCertificate& TestAuthority();
const TestCertificate& TestServerCertificate();

// The server's end of one connection. Calls block; they return when the test is over at the latest.
class PeerConnection {
 public:
  PeerConnection(UniqueFd socket, SslSession ssl, int number)
      : socket_(std::move(socket)), ssl_(std::move(ssl)), number_(number) {}

  int number() const { return number_; }  // 0 for the first connection that was accepted.
  // One request, head and body, or nothing when the client has gone.
  std::optional<std::string> ReadRequest();
  void Send(std::string_view data);
  void Respond(std::string_view body, int status = 200, std::string_view headers = {});
  void Chunk(std::string_view data);  // After a head with "Transfer-Encoding: chunked".
  void WaitForEnd();                  // Until the client hangs up.
  void Drain();                       // The same below TLS, after saying that nothing more will come.
  void Shutdown();                    // TLS' close_notify.
  void Reset();                       // A TCP RST when the connection closes.

 private:
  std::ptrdiff_t Receive(char* into, std::size_t size);

  UniqueFd socket_;
  SslSession ssl_;
  const int number_;
  std::string buffer_;
};

inline constexpr std::string_view kChunkedHead =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

// Listens on 127.0.0.1 and runs `script` for each connection, on a thread of its own.
class TestPeer {
 public:
  using Script = std::function<void(PeerConnection&)>;

  explicit TestPeer(Script script) : TestPeer(std::move(script), nullptr) {}
  // With TLS; `client_ca_pem` makes it ask for a client certificate.
  TestPeer(Script script, const TestCertificate& certificate, const std::string& client_ca_pem = {});
  ~TestPeer();

  Endpoint endpoint(std::string host = "127.0.0.1") const { return {std::move(host), port_, context_ != nullptr}; }
  int accepted() const { return accepted_; }
  void WaitUntilClosed(int connections) const;  // Until that many were closed from this side.

 private:
  TestPeer(Script script, SslContext context);
  void Run();
  void Serve(UniqueFd socket, int number);

  Script script_;
  SslContext context_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_ = 0;
  std::atomic<int> closed_ = 0;
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;  // Guards the two below.
  std::vector<int> open_;
  std::vector<std::jthread> sessions_;
  std::jthread acceptor_;  // Last: joins first.
};

}  // namespace tessera::net
