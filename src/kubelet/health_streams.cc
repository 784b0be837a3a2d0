#include "kubelet/health_streams.h"

#include <algorithm>

#include "base/text.h"

namespace tessera::kubelet {
namespace {

grpc::Status ShuttingDown() { return {grpc::StatusCode::UNAVAILABLE, "the driver is shutting down"}; }

// A later time of the same finding is no news.
bool SaysTheSame(const DeviceHealth& a, const DeviceHealth& b) {
  return a.pool == b.pool && a.device == b.device && a.health == b.health && a.lease == b.lease &&
         a.message == b.message;
}

}  // namespace

HealthStreams::HealthStreams(Options options)
    : options_(options), sender_([this](const std::stop_token& stop) { Run(stop); }) {}

void HealthStreams::Set(std::vector<DeviceHealth> devices, std::chrono::steady_clock::time_point as_of) {
  {
    const std::lock_guard lock(mutex_);
    const bool same = std::ranges::equal(devices, *report_, SaysTheSame);
    report_ = std::make_shared<const std::vector<DeviceHealth>>(std::move(devices));
    as_of_ = as_of;
    if (same) return;
    news_ = true;
  }
  changed_.notify_all();
}

bool HealthStreams::IsCurrent() const {
  return report_->empty() || std::chrono::steady_clock::now() - as_of_ <= options_.max_age;
}

std::chrono::milliseconds HealthStreams::Interval() const {
  std::chrono::milliseconds interval = options_.resend;
  for (const DeviceHealth& device : *report_) {
    interval = std::min(interval, std::chrono::milliseconds(device.lease) / 3);
  }
  return interval;
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
    if (IsCurrent()) report = report_;
  }
  changed_.notify_all();
  if (report) stream->Send(std::move(report));
  return grpc::Status::OK;
}

void HealthStreams::Remove(const HealthStream* stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

std::size_t HealthStreams::count() const {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

void HealthStreams::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait(lock, stop, [this] { return news_ || !streams_.empty(); });
    changed_.wait_for(lock, stop, Interval(), [this] { return news_; });
    news_ = false;
    if (!IsCurrent()) continue;
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
