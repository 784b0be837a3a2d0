// bench/health_stream.h: a DRAResourceHealth stream (v1) as a kubelet holds it open, and when each report came.
#pragma once

#include <grpcpp/client_context.h>
#include <proto/dra_health_v1.grpc.pb.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tessera::bench {

class HealthStream {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit HealthStream(const std::filesystem::path& socket);  // The plugin's.
  ~HealthStream();

  // Waits until all these devices are reported so. The arrival of the message that made it true, which may be past. Ends
  // the program when that never happens.
  Time WaitFor(const std::vector<std::string>& devices, v1::HealthStatus health);

 private:
  struct Known {
    v1::HealthStatus health = v1::UNKNOWN;
    Time since;  // The arrival of the first message that said so.
  };
  void Read();

  std::unique_ptr<v1::DRAResourceHealth::Stub> plugin_;
  grpc::ClientContext context_;
  std::mutex mutex_;  // Guards known_.
  std::condition_variable changed_;
  std::map<std::string, Known> known_;  // By device.
  std::jthread reader_;                 // Last: joins first.
};

}  // namespace tessera::bench
