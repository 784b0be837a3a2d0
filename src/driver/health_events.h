// driver/health_events.h: tells of sick and recovered devices in Events on the Node and on the claims that hold them.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "driver/device_conditions.h"
#include "driver/events.h"
#include "journal/journal.h"

namespace tessera::driver {

// A reason is told once when it stands, or when the brake holds it; not while it is a suspicion. When nothing is left
// against a device, that is told once too. Instances of one GPU with the same reason share one Event on the Node. Safe
// to call from any thread, and never waits for the network.
class HealthEvents {
 public:
  HealthEvents(std::string node_name, journal::Journal& journal, Events& events)
      : node_name_(std::move(node_name)), journal_(journal), events_(events) {}

  // Only the instance that publishes tells. When it begins to, it tells what stands.
  void SetActive(bool active);

  void OnReport(NodeHealth report);

 private:
  // One piece of news about one GPU: of the whole of it, or of some of its instances.
  struct News {
    EventType type = EventType::kWarning;
    std::string code, text;            // The text comes after the devices' names.
    std::vector<std::string> devices;  // Their names …
    std::vector<std::string> uuids;    // … and identities.
  };
  using Key = std::pair<std::string, std::string>;  // GPU and code.

  // The caller holds mutex_:
  void TellNews();
  void Collect(const health::DeviceHealth& device, std::map<Key, News>& news);

  void Tell(const std::string& gpu_uuid, const News& news);

  const std::string node_name_;
  journal::Journal& journal_;
  Events& events_;

  std::mutex mutex_;  // Guards everything below.
  bool active_ = false;
  NodeHealth report_;                                  // The newest.
  std::map<std::string, std::set<std::string>> told_;  // Codes by the device's UUID.
};

}  // namespace tessera::driver
