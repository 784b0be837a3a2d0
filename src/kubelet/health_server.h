// kubelet/health_server.h: grpc.health.v1, for the kubelet's own gRPC probes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/error.h"

namespace tessera::kubelet {

// Services "" and "liveness"; any other is NOT_FOUND. An answer is never older than the question: each Check waits for
// a run of `check` that starts after it.
class HealthServer {
 public:
  struct Options {
    std::filesystem::path socket;         // Always.
    std::optional<std::uint16_t> port;    // On TCP as well; 0 is any.
    std::function<Result<void>()> check;  // Called on a thread of ours, for all who wait at a time. May take a while.
  };
  static Result<std::unique_ptr<HealthServer>> Start(Options options);
  ~HealthServer();
  std::uint16_t port() const;  // 0 when there is none.

 private:
  class Impl;
  explicit HealthServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::kubelet
