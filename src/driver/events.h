// driver/events.h: tells people through Kubernetes Events, without flooding them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "api/prepared_claim.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/queue.h"
#include "driver/metrics.h"
#include "json/value.h"

namespace tessera::driver {

enum class EventType : std::uint8_t { kNormal, kWarning };

// What an Event is about.
struct EventTarget {
  std::string api_version, kind, namespace_name, name, uid;

  auto operator<=>(const EventTarget&) const = default;
};
EventTarget ClaimTarget(const api::ClaimRef& claim, std::string_view resource_version = "v1");
EventTarget NodeTarget(std::string_view node_name);

// Where Events go: the API server, or a fake.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // Creates, and returns the Event's name.
  virtual Result<std::string> Create(const std::string& namespace_name, const json::Value& event) = 0;
  // Raises the count of one that is there.
  virtual Result<void> Patch(const std::string& namespace_name, const std::string& name, const json::Value& patch) = 0;
};

// Hands Events to a thread of its own: callers never wait for the network. The same reason with the same text about the
// same object becomes one Event with a count, written at most every `repeat_after`, then rarer and
// rarer up to `repeat_to`: an hour of retries costs a few writes, and the Event outlives it; beyond a burst, and when the queue
// is full, Events are dropped and counted. Safe to call from any thread.
class Events {
 public:
  struct Options {
    std::string node_name;
    std::string component = "tessera-kubelet-plugin";
    std::chrono::seconds repeat_after{60};
    std::chrono::seconds repeat_to{1200};  // The API server forgets an Event one hour after its last write.
    double per_second = 1;
    int burst = 25;
    const Clock* clock = nullptr;
  };
  Events(Options options, EventSink& sink, Metrics& metrics);
  ~Events();  // Writes what waits, for two seconds at most.

  // `reason` is PascalCase and stable: an error's code, "ClaimRecovered", …
  void Post(EventTarget target, EventType type, std::string_view reason, std::string message);

 private:
  struct Wanted {
    EventTarget target;
    EventType type;
    std::string reason, message;
  };
  struct Known {
    std::string name;
    std::uint64_t count = 0;
    std::chrono::steady_clock::time_point written;
    std::chrono::seconds wait{0};  // Until it is written again.
  };
  void Run();
  void Write(const Wanted& wanted);
  bool TakeToken();
  void Forget();

  const Options options_;
  const Clock& clock_;
  EventSink& sink_;
  Metrics& metrics_;
  // Of the worker alone:
  std::map<std::string, Known> known_;
  double tokens_;
  std::chrono::steady_clock::time_point refilled_;
  std::uint64_t serial_ = 0;

  std::atomic<bool> closing_ = false;
  BoundedQueue<Wanted> queue_{256};
  std::jthread worker_;  // Last: joins first.
};

}  // namespace tessera::driver
