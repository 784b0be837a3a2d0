// kube/watch.h: a collection of the API server, listed and then watched on a thread of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "json/value.h"
#include "kube/client.h"

namespace tessera::kube {

enum class Change : std::uint8_t { kAdded, kModified, kDeleted };

// All are called on the watch's thread, one at a time.
struct WatchHandlers {
  std::function<void(std::vector<json::Value> items)> on_list;       // All there is: at start, and after a gap.
  std::function<void(Change change, json::Value object)> on_change;  // In the server's order.
  std::function<void(const Error& error)> on_error;                  // Said once for each run of failures.
};

struct WatchOptions {
  // "resourceslices" of the negotiated resource.k8s.io, with its field selector. A collection, never a whole cluster's.
  std::string resource;
  std::string field_selector;
  std::chrono::milliseconds backoff_from{500}, backoff_to{30'000};
  std::chrono::seconds server_timeout{300};  // Asked of the server, with jitter; each stream ends after it.
  std::chrono::seconds quiet{360};           // Without one byte for this long, bookmarks included: dead.
};

// Lists in pages, watches from there with bookmarks, resumes where a stream ended, lists anew when the server says 410,
// backs off with jitter and heeds Retry-After.
class Watch {
 public:
  Watch(Client& client, ResourceApi& api, WatchOptions options, WatchHandlers handlers);
  ~Watch();  // Ends the stream and joins.

  std::uint64_t relists() const;
  std::uint64_t failures() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::kube
