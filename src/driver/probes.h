// driver/probes.h: where others ask how the plugin is: gRPC health, and over HTTP /healthz, /readyz and the metrics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "kubelet/health_server.h"
#include "net/http_server.h"

namespace tessera::driver {

class Probes {
 public:
  struct Options {
    std::filesystem::path health_socket;
    std::optional<std::uint16_t> health_port;
    std::string http_endpoint;  // Empty: none.
    std::string metrics_path;
  };
  // Who answers. Called on threads of the servers, several at a time.
  struct Answers {
    std::function<Result<void>()> alive, ready;
    std::function<std::string()> metrics;
  };
  // Fails when a port cannot be served. A socket that cannot be made is only logged.
  static Result<std::unique_ptr<Probes>> Start(const Options& options, const Answers& answers);

 private:
  Probes(std::unique_ptr<kubelet::HealthServer> health, std::unique_ptr<net::HttpServer> http)
      : health_(std::move(health)), http_(std::move(http)) {}

  const std::unique_ptr<kubelet::HealthServer> health_;
  const std::unique_ptr<net::HttpServer> http_;
};

}  // namespace tessera::driver
