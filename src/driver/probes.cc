#include "driver/probes.h"

#include "base/log.h"
#include "base/text.h"

namespace tessera::driver {
namespace {

net::ServerResponse Answer(const net::ServerRequest& request, const std::string& metrics_path,
                           const Probes::Answers& answers) {
  if (request.path == metrics_path) {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = answers.metrics()};
  }
  if (request.path != "/healthz" && request.path != "/readyz") return {.status = 404, .body = "not found\n"};
  const Result<void> fine = request.path == "/healthz" ? answers.alive() : answers.ready();
  if (fine) return {.body = "ok\n"};
  return {.status = 503, .body = Format("{}: {}\n", fine.error().code(), fine.error().Text())};
}

}  // namespace

Result<std::unique_ptr<Probes>> Probes::Start(const Options& options, const Answers& answers) {
  auto health = kubelet::HealthServer::Start(
      {.socket = options.health_socket, .port = options.health_port, .check = answers.alive});
  if (!health) {
    if (options.health_port) return std::unexpected(std::move(health).error());
    log::Failure(health.error(), "No gRPC health on a unix socket");  // A read-only disk must not end the plugin.
    health = nullptr;
  }
  std::unique_ptr<net::HttpServer> http;
  if (!options.http_endpoint.empty()) {
    TESSERA_ASSIGN(http,
                   net::HttpServer::Start({.address = options.http_endpoint},
                                          [path = options.metrics_path, answers](const net::ServerRequest& request) {
                                            return Answer(request, path, answers);
                                          }));
  }
  return std::unique_ptr<Probes>(new Probes(*std::move(health), std::move(http)));
}

}  // namespace tessera::driver
