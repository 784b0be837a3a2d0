// kubelet/health_streams.h: the DRAResourceHealth service in both versions, and the streams it holds open.
#pragma once

#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <vector>

#include "kubelet/plugin_server.h"

namespace tessera::kubelet {

using HealthReport = std::shared_ptr<const std::vector<DeviceHealth>>;

// One open stream, of either version. Safe to call from any thread.
class HealthStream {
 public:
  virtual ~HealthStream() = default;
  virtual void Send(HealthReport report) = 0;  // While a write is under way, only the newest report waits.
  virtual void End(const grpc::Status& status) = 0;
};

// What the streams say: all of it when one opens, again on change, and within a third of the shortest lease: when any
// stream of the driver ends, the kubelet forgets what all of them have reported. Of an old report nothing is said: the
// kubelet must see that nobody looks any more.
class HealthStreams {
 public:
  static constexpr std::size_t kMaxStreams = 64;  // A kubelet opens one. More are answered RESOURCE_EXHAUSTED.

  struct Options {
    std::chrono::milliseconds resend;   // At most.
    std::chrono::milliseconds max_age;  // Of a report, since it was last confirmed.
  };
  explicit HealthStreams(Options options);
  ~HealthStreams() { Close(); }

  void Set(std::vector<DeviceHealth> devices, std::chrono::steady_clock::time_point as_of);
  // Ends all streams and refuses others from now on.
  void Close();

  grpc::Status Add(const std::shared_ptr<HealthStream>& stream);
  void Remove(const HealthStream* stream);
  std::size_t count() const;

 private:
  void Run(const std::stop_token& stop);
  // With the mutex held:
  std::vector<std::shared_ptr<HealthStream>> All() const;
  std::chrono::milliseconds Interval() const;
  bool IsCurrent() const;

  const Options options_;
  mutable std::mutex mutex_;  // Guards what follows, up to the thread.
  std::condition_variable_any changed_;
  HealthReport report_ = std::make_shared<const std::vector<DeviceHealth>>();
  std::chrono::steady_clock::time_point as_of_{};
  bool news_ = false;  // The report has changed since it was sent.
  bool closed_ = false;
  std::unordered_map<const HealthStream*, std::shared_ptr<HealthStream>> streams_;

  std::jthread sender_;  // Last: joins first.
};

// Both must be dropped before `streams`.
std::unique_ptr<grpc::Service> MakeHealthV1(HealthStreams& streams);
std::unique_ptr<grpc::Service> MakeHealthV1alpha1(HealthStreams& streams);

}  // namespace tessera::kubelet
