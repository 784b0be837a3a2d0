// bench/health_node.h: the plugin on a node whose simulated GPUs fall ill and recover quickly, and what it says of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/health_stream.h"
#include "bench/plugin_node.h"
#include "sim/store.h"

namespace tessera::bench {

inline constexpr std::chrono::seconds kHealthPeriod{1};  // Between two readings of the vitals: the shortest there is.

// Ends the program when something fails, like PluginNode.
class HealthNode {
 public:
  explicit HealthNode(PluginOptions options);  // Starts the plugin, and waits until it has looked at all devices.

  // A signal and its end. `heal` may do nothing: an Xid is over when the driver asks for nothing any more, a counter when
  // it stands still.
  struct Signal {
    std::function<void(HealthNode& node, std::size_t gpu)> play;
    std::function<void(HealthNode& node, std::size_t gpu)> heal = [](auto&, auto) {};
    std::chrono::milliseconds spread{200};  // It comes at any time within: a period, when it waits for a reading.
  };
  // From just before it is played on one GPU until the stream says that all devices of this GPU are unhealthy. Before
  // that, they are waited for until they are healthy, and a while longer.
  std::chrono::steady_clock::duration Measure(const Signal& signal, std::size_t gpu);

  void Change(std::size_t gpu, const std::function<void(sim::Gpu&)>& change);
  void Xid(std::size_t gpu, std::uint64_t code);

  double SeenXids() const;  // Since the plugin's start, as its metrics have it.
  std::size_t gpus() const { return gpus_.size(); }
  sim::Store& store() { return *store_; }
  PluginNode& plugin() { return *plugin_; }

 private:
  struct Gpu {
    unsigned minor;
    std::vector<std::string> devices;  // The GPU itself, or its MIG devices.
  };

  const TempDir dir_;
  const std::uint16_t port_;
  std::unique_ptr<sim::Store> store_;
  std::unique_ptr<PluginNode> plugin_;
  std::unique_ptr<HealthStream> stream_;
  std::vector<Gpu> gpus_;
};

}  // namespace tessera::bench
