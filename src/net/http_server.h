// net/http_server.h: a small HTTP/1.1 server for probes and scrapers. Plain TCP; the webhook adds TLS.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"

namespace tessera::net {

struct ServerRequest {
  std::string method, path, query, body;  // "/metrics", without the query. HEAD comes as GET; only the head is sent.
};

struct ServerResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Called on the server's threads, several at a time. Must not throw.
using Handler = std::function<ServerResponse(const ServerRequest&)>;

struct ServerOptions {
  std::string address;               // ":8080", "127.0.0.1:0", "[::1]:8080"; port 0 is any.
  std::size_t max_connections = 64;  // Beyond it new ones are closed at once.
  std::size_t max_body = 64 << 10;
  std::chrono::seconds timeout{10};  // To send a request, and to take an answer; idle keep-alive too.
  int threads = 2;
};

class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> Start(ServerOptions options, Handler handler);
  ~HttpServer();  // Stops accepting, lets running handlers end, closes all.

  std::uint16_t port() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::net
