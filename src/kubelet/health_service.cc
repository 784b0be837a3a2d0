#include <proto/dra_health_v1.grpc.pb.h>
#include <proto/dra_health_v1alpha1.grpc.pb.h>

#include <mutex>
#include <optional>

#include "kubelet/health_streams.h"
#include "kubelet/utf8.h"

namespace tessera::kubelet {
namespace {

constexpr std::size_t kMaxMessage = 1024;  // Longer ones are cut by the kubelet, also within a character.

struct ApiV1 {
  using Service = v1::DRAResourceHealth::CallbackService;
  using Request = v1::NodeWatchResourcesRequest;
  using Response = v1::NodeWatchResourcesResponse;
  using Status = v1::HealthStatus;
};
struct ApiV1alpha1 {
  using Service = v1alpha1::DRAResourceHealth::CallbackService;
  using Request = v1alpha1::NodeWatchResourcesRequest;
  using Response = v1alpha1::NodeWatchResourcesResponse;
  using Status = v1alpha1::HealthStatus;
};

template <class Api>
typename Api::Response ToResponse(const std::vector<DeviceHealth>& devices) {
  typename Api::Response response;
  for (const DeviceHealth& device : devices) {
    auto& out = *response.add_devices();
    out.mutable_device()->set_pool_name(ToUtf8(device.pool));
    out.mutable_device()->set_device_name(ToUtf8(device.device));
    out.set_health(static_cast<typename Api::Status>(device.health));
    out.set_last_updated_time(
        std::chrono::duration_cast<std::chrono::seconds>(device.updated.time_since_epoch()).count());
    out.set_health_check_timeout_seconds(device.lease.count());
    out.set_message(ToUtf8(device.message, kMaxMessage));
  }
  return response;
}

// Owns itself until gRPC is done with it. One operation at a time: while `busy_`, only who set it may start the next.
template <class Api>
class Stream final : public grpc::ServerWriteReactor<typename Api::Response>,
                     public HealthStream,
                     public std::enable_shared_from_this<Stream<Api>> {
 public:
  explicit Stream(HealthStreams& streams) : streams_(streams) {}

  void Open() {
    self_ = this->shared_from_this();
    if (const grpc::Status status = streams_.Add(self_); !status.ok()) End(status);
  }

  void Send(HealthReport report) override {
    {
      const std::lock_guard lock(mutex_);
      next_ = std::move(report);
      if (busy_) return;
      busy_ = true;
    }
    Proceed();
  }

  void End(const grpc::Status& status) override {
    {
      const std::lock_guard lock(mutex_);
      if (!end_) end_ = status;
      if (busy_) return;
      busy_ = true;
    }
    Proceed();
  }

 private:
  // Finishes, writes what waits, or rests. Called by who has set `busy_`; after Finish() it stays set.
  void Proceed() {
    std::unique_lock lock(mutex_);
    if (end_) {
      const grpc::Status status = *end_;
      lock.unlock();
      return this->Finish(status);
    }
    if (!next_) {
      busy_ = false;
      return;
    }
    const HealthReport report = std::exchange(next_, nullptr);
    lock.unlock();
    response_ = ToResponse<Api>(*report);
    this->StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      const std::lock_guard lock(mutex_);
      if (!end_) end_ = grpc::Status(grpc::StatusCode::CANCELLED, "the client went away");
    }
    Proceed();
  }
  void OnCancel() override { End(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away")); }
  void OnDone() override {
    streams_.Remove(this);
    self_.reset();
  }

  HealthStreams& streams_;
  typename Api::Response response_;  // Belongs to the write under way.
  std::mutex mutex_;                 // Guards what follows.
  bool busy_ = false;
  HealthReport next_;
  std::optional<grpc::Status> end_;
  std::shared_ptr<Stream> self_;  // Set before the reactor is handed to gRPC, reset when gRPC is done.
};

template <class Api>
class HealthService final : public Api::Service {
 public:
  explicit HealthService(HealthStreams& streams) : streams_(streams) {}

  grpc::ServerWriteReactor<typename Api::Response>* NodeWatchResources(
      grpc::CallbackServerContext* /*context*/, const typename Api::Request* /*request*/) override {
    const auto stream = std::make_shared<Stream<Api>>(streams_);
    stream->Open();
    return stream.get();
  }

 private:
  HealthStreams& streams_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeHealthV1(HealthStreams& streams) {
  return std::make_unique<HealthService<ApiV1>>(streams);
}

std::unique_ptr<grpc::Service> MakeHealthV1alpha1(HealthStreams& streams) {
  return std::make_unique<HealthService<ApiV1alpha1>>(streams);
}

}  // namespace tessera::kubelet
