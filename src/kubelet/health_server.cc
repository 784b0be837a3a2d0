#include "kubelet/health_server.h"

#include <grpcpp/server_context.h>
#include <proto/grpc_health_v1.grpc.pb.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "kubelet/served_socket.h"

namespace tessera::kubelet {
namespace {

namespace health = grpc::health::v1;

constexpr std::size_t kMaxWaiting = 64;  // More are answered RESOURCE_EXHAUSTED. The kubelet asks one at a time.

// Check() waits for the worker. Watch stays UNIMPLEMENTED: the kubelet's probes do not use it.
class Service final : public health::Health::CallbackService {
 public:
  explicit Service(std::function<Result<void>()> check)
      : check_(std::move(check)), worker_([this](const std::stop_token& stop) { Run(stop); }) {}

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context, const health::HealthCheckRequest* request,
                                  health::HealthCheckResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (!request->service().empty() && request->service() != "liveness") {
      reactor->Finish({grpc::StatusCode::NOT_FOUND, "unknown service; there are \"\" and \"liveness\""});
    } else if (const grpc::Status status = Queue({reactor, response}); !status.ok()) {
      reactor->Finish(status);
    }
    return reactor;
  }

  // Answers what waits, and all that comes: afterwards the server can end. A check under way is waited for.
  void Stop() {
    worker_.request_stop();
    worker_.join();
    std::vector<Waiting> rest;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      rest = std::exchange(waiting_, {});
    }
    for (const Waiting& call : rest) call.reactor->Finish({grpc::StatusCode::UNAVAILABLE, "shutting down"});
  }

 private:
  struct Waiting {
    grpc::ServerUnaryReactor* reactor;
    health::HealthCheckResponse* response;
  };

  grpc::Status Queue(Waiting call) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return {grpc::StatusCode::UNAVAILABLE, "shutting down"};
      if (waiting_.size() >= kMaxWaiting) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many checks are waiting"};
      waiting_.push_back(call);
    }
    changed_.notify_all();
    return grpc::Status::OK;
  }

  void Run(const std::stop_token& stop) {
    for (;;) {
      std::vector<Waiting> calls;
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
        calls = std::exchange(waiting_, {});
      }
      const Result<void> result = check_();
      if (!result.has_value()) log::Failure(result.error(), "The liveness check failed");
      for (const Waiting& call : calls) {
        call.response->set_status(result.has_value() ? health::HealthCheckResponse::SERVING
                                                     : health::HealthCheckResponse::NOT_SERVING);
        call.reactor->Finish(grpc::Status::OK);
      }
    }
  }

  const std::function<Result<void>()> check_;
  std::mutex mutex_;  // Guards what follows, up to the thread.
  std::condition_variable_any changed_;
  std::vector<Waiting> waiting_;
  bool stopped_ = false;
  std::jthread worker_;  // Last: joins first.
};

}  // namespace

class HealthServer::Impl {
 public:
  explicit Impl(std::function<Result<void>()> check) : service_(std::move(check)) {}
  ~Impl() { service_.Stop(); }

  Result<void> Serve(const Options& options) {
    const std::array<grpc::Service*, 1> services{&service_};
    TESSERA_ASSIGN(served_, ServedSocket::Open({.path = options.socket,
                                                .services = services,
                                                .max_message = 4 << 10,
                                                .max_streams = 16,
                                                .port = options.port}));
    return {};
  }
  std::uint16_t port() const { return static_cast<std::uint16_t>(served_->port()); }

 private:
  Service service_;
  std::unique_ptr<ServedSocket> served_;
};

HealthServer::HealthServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HealthServer::~HealthServer() = default;

Result<std::unique_ptr<HealthServer>> HealthServer::Start(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options.check));
  TESSERA_TRY(impl->Serve(options));
  return std::unique_ptr<HealthServer>(new HealthServer(std::move(impl)));
}

std::uint16_t HealthServer::port() const { return impl_->port(); }

}  // namespace tessera::kubelet
