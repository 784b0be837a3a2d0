// driver/serving.h: our side of the kubelet's sockets: there from the take-over until we stand back or end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "driver/events.h"
#include "driver/metrics.h"
#include "journal/leases.h"
#include "kubelet/plugin_server.h"

namespace tessera::driver {

// Started and stopped by one thread, and then also started again.
class Serving {
 public:
  // All must outlive it.
  struct Parts {
    journal::Leases& leases;
    kubelet::ClaimHandler& handler;
    Events& events;
    Metrics& metrics;
    std::function<std::vector<kubelet::DeviceHealth>()> health;           // What health streams are to say …
    std::function<std::chrono::steady_clock::time_point()> health_as_of;  // … and when that was found.
  };
  Serving(std::string node_name, kubelet::PluginOptions options, Parts parts);

  // Makes the sockets: the kubelet will come. Our instance lease is held from the first time on.
  Result<void> Start();
  bool started() const { return plugin_ != nullptr; }
  // The registration socket, made again when somebody removed it.
  Result<void> KeepRegistered();
  void Unregister();  // The kubelet forgets us, so that it sends new calls elsewhere.
  void Stop(std::chrono::milliseconds grace);

  // From any thread:
  void ReportHealth();
  std::size_t health_streams();  // That are open.
  // Both services are asked as the kubelet would. Before Start() and after Stop() there are none, and that is as it
  // should be.
  Result<void> Alive();
  Result<void> Registered();

 private:
  std::shared_ptr<kubelet::PluginServer> Current();  // May be null.
  void OnRegistration(const kubelet::RegistrationState& state);

  const std::string node_name_;
  const kubelet::PluginOptions options_;
  const Parts parts_;
  std::optional<journal::Lease> instance_;
  std::mutex mutex_;  // Guards plugin_ where other threads are; only the starting thread changes it.
  std::shared_ptr<kubelet::PluginServer> plugin_;
};

}  // namespace tessera::driver
