// tests/standin/store.h: the objects of the API server double, their versions, and what happened to them.
#pragma once

#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "json/value.h"

namespace tessera::standin {

// Where an object is kept. With an empty name it is a collection; with an empty namespace too, that of all namespaces.
// The version of the API is not part of it: one object is served in several.
struct Key {
  std::string group, resource, ns, name;
  auto operator<=>(const Key&) const = default;
};

// An object as it was at one version. Immutable.
struct Stored {
  Key key;
  std::uint64_t version = 0;
  json::Value value;
  std::string text;         // `value`, printed: {"kind":…,"apiVersion":…, and then
  std::size_t rest_at = 0;  // … the rest from here, which is all that lists show.
};
using ObjectRef = std::shared_ptr<const Stored>;

struct Event {
  std::uint64_t version = 0;
  ObjectRef before, after;  // Null: created, removed. A removed object shows again in `before`, at its old version.
};

// Safe to call from any thread. A write that depends on what is stored needs a lock of the caller's around both.
class Store {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  explicit Store(std::size_t history) : history_limit_(history) {}

  ObjectRef Find(const Key& key) const;

  struct Listing {
    std::vector<ObjectRef> items;  // By namespace and name.
    std::uint64_t version = 0;
  };
  // The collection as it was at `version` (0: now). Nothing when the history does not reach back that far.
  std::optional<Listing> List(const Key& collection, std::uint64_t version = 0) const;

  // Gives `value` the next version and stores it.
  ObjectRef Put(const Key& key, json::Value value);
  // Returns the object with the version of its removal. It must exist.
  ObjectRef Remove(const Key& key);

  struct News {
    std::vector<Event> events;  // Of the collection, after the version asked for.
    std::uint64_t version = 0;  // Up to here.
    bool expired = false;       // The history does not reach back to the version asked for.
    bool ended = false;         // EndWatches() was called.
  };
  // Waits for a version after `version`, `stop`, the deadline, or EndWatches() since `epoch`.
  News Wait(const Key& collection, std::uint64_t version, std::uint64_t epoch, const std::stop_token& stop,
            Deadline deadline) const;
  std::uint64_t epoch() const;
  void EndWatches();

  std::uint64_t version() const;
  void SetHistory(std::size_t events);
  // Every version seen so far becomes too old, for running watches as well.
  void ForgetHistory();

  // Whether the collection came to satisfy `holds` before the deadline.
  bool WaitUntil(const Key& collection, const std::function<bool(const std::vector<json::Value>& items)>& holds,
                 Deadline deadline) const;

 private:
  Listing ListNow(const Key& collection) const;
  void Record(Event event);
  void Trim();

  mutable std::mutex mutex_;  // Guards everything below.
  mutable std::condition_variable_any changed_;
  std::map<Key, ObjectRef> objects_;
  std::deque<Event> history_;
  std::size_t history_limit_;
  std::uint64_t version_ = 100;  // A cluster is never empty: 0 and 1 are special to clients.
  std::uint64_t forgotten_ = 0;  // The newest event that is no longer in history_ has this version.
  std::uint64_t epoch_ = 0;
};

}  // namespace tessera::standin
