#include "kubelet/health_streams.h"

#include "base/text.h"

namespace tessera::kubelet {
namespace {

grpc::Status ShuttingDown() { return {grpc::StatusCode::UNAVAILABLE, "the driver is shutting down"}; }

}  // namespace

HealthStreams::HealthStreams(std::chrono::milliseconds resend)
    : resend_(resend), sender_([this](const std::stop_token& stop) { Run(stop); }) {}

void HealthStreams::Set(std::vector<DeviceHealth> devices) {
  {
    const std::lock_guard lock(mutex_);
    if (devices == *report_) return;
    report_ = std::make_shared<const std::vector<DeviceHealth>>(std::move(devices));
    news_ = true;
  }
  changed_.notify_all();
}

void HealthStreams::Close() {
  std::vector<std::shared_ptr<HealthStream>> streams;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    streams = All();
  }
  for (const auto& stream : streams) stream->End(ShuttingDown());
}

grpc::Status HealthStreams::Add(const std::shared_ptr<HealthStream>& stream) {
  HealthReport report;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return ShuttingDown();
    if (streams_.size() >= kMaxStreams) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, Format("{} health streams are open already", kMaxStreams)};
    }
    streams_.emplace(stream.get(), stream);
    report = report_;
  }
  changed_.notify_all();
  stream->Send(std::move(report));
  return grpc::Status::OK;
}

void HealthStreams::Remove(const HealthStream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

void HealthStreams::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait(lock, stop, [this] { return news_ || !streams_.empty(); });
    changed_.wait_for(lock, stop, resend_, [this] { return news_; });
    news_ = false;
    const HealthReport report = report_;
    const std::vector<std::shared_ptr<HealthStream>> streams = All();
    lock.unlock();
    for (const auto& stream : streams) stream->Send(report);
    lock.lock();
  }
}

std::vector<std::shared_ptr<HealthStream>> HealthStreams::All() const {
  std::vector<std::shared_ptr<HealthStream>> all;
  all.reserve(streams_.size());
  for (const auto& [key, stream] : streams_) all.push_back(stream);
  return all;
}

}  // namespace tessera::kubelet
