// net/http_client.h: HTTP/1.1 over TCP and TLS, from the asking side. Start here.
//
// Blocking calls with deadlines: the caller's thread drives the connection, so that nothing waits for a loop thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tessera::net {

using Deadline = std::chrono::steady_clock::time_point;

struct Endpoint {
  std::string host;  // A name, an IPv4 or an IPv6 address (without brackets).
  std::uint16_t port = 443;
  bool tls = true;

  bool operator==(const Endpoint&) const = default;
};

// Certificates are always verified, against `ca_pem` alone and for `server_name`.
struct TlsIdentity {
  std::string ca_pem;
  std::string server_name;                             // The endpoint's host when empty.
  std::string client_certificate_pem, client_key_pem;  // Both or none.

  bool operator==(const TlsIdentity&) const = default;
};

struct Header {
  std::string name, value;
};

struct HttpRequest {
  std::string method = "GET";
  std::string target;           // "/api/v1/nodes/a?timeoutSeconds=5", already encoded.
  std::vector<Header> headers;  // Host, Content-Length and Connection are ours.
  std::string body;
};

struct HttpResponse {
  int status = 0;
  std::vector<Header> headers;
  std::string body;

  // The first of that name, in any case; empty when there is none.
  std::string_view header(std::string_view name) const;
};

struct Limits {
  std::size_t header_bytes = std::size_t{64} << 10;
  std::size_t body_bytes = std::size_t{16} << 20;
};

// Everything that can go wrong here is transient but a certificate, which is permanent-config ("TlsVerify").
// Codes: "ConnectFailed", "TlsVerify", "TlsFailed", "HttpTimeout", "HttpCancelled", "HttpClosed", "HttpMalformed",
// "HttpTooLarge".

// Keep-alive connections to one endpoint. Safe to call from any thread: each exchange has a connection of its own,
// idle ones are reused, at most `max_idle` are kept and none longer than `idle_for`.
class HttpClient {
 public:
  struct Options {
    Endpoint endpoint;
    TlsIdentity tls;
    Limits limits;
    std::size_t max_idle = 64;  // As many as may be at work at once: a new one costs a TLS handshake.
    std::chrono::seconds idle_for{90};
    std::chrono::seconds connect_timeout{10};  // For name, TCP and TLS together, within the deadline of the call.
  };
  static Result<std::unique_ptr<HttpClient>> Create(Options options);  // Fails on certificates it cannot read.
  ~HttpClient();

  // One request, one answer. A kept connection that the server had closed meanwhile is replaced once, for methods that
  // may be repeated, when not one byte of an answer came.
  Result<HttpResponse> Exchange(const HttpRequest& request, Deadline deadline, std::stop_token stop = {});

  // The answer's head, then its body in pieces as they arrive, until it ends, `on_data` returns false, `stop` is
  // requested, or nothing came for `quiet`. A status other than 2xx is returned with its (bounded) body instead.
  Result<HttpResponse> Stream(const HttpRequest& request, Deadline head_deadline, std::chrono::milliseconds quiet,
                              std::stop_token stop, const std::function<bool(std::string_view data)>& on_data);

  void CloseIdle();  // After a change of credentials or servers.

 private:
  class Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::net
