// tests/standin/api.h: the verbs of the Kubernetes API over a store of objects, without sockets.
//
// Every group, version and resource is served in the same way; only resource.k8s.io has versions that can be switched
// off, and shapes that differ between them. Not done: validation, defaults (but a taint's timeAdded), canonical
// quantities, label selectors, managedFields (server-side apply is a merge that may create, but for status.devices: apply.h), events.k8s.io as another
// view of the core group's events.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "tests/standin/apply.h"
#include "tests/standin/http.h"
#include "tests/standin/store.h"
#include "tests/standin/target.h"

namespace tessera::standin {

// One object about to be stored, in the shape of v1.
struct Write {
  std::string_view resource;
  json::Object& object;
  std::vector<std::string> warnings;  // Sent as "Warning: 299" headers.
};
// May edit the object, as a server does whose feature gates are off. Called under a lock, on the server's threads.
using WriteHook = std::function<void(Write& write)>;

// Who asks: a client is held to the versions that are served, and may not set a status outside of /status.
enum class Caller : std::uint8_t { kClient, kAdministrator };

// A watch that was granted.
struct WatchPlan {
  Target target;
  FieldSelector selector;
  std::uint64_t version = 0;       // Events after this one …
  std::vector<ObjectRef> initial;  // … and before them these, as ADDED.
  bool bookmarks = false;
  std::chrono::seconds timeout{0};  // 0: none.
};

class Api {
 public:
  explicit Api(Store& store) : store_(store) {}

  // Safe to call from any thread. Never called for a watch.
  Answer Handle(const Request& request, Caller caller);

  static bool IsWatch(const Request& request);
  // The watch that the request asks for, or the refusal.
  std::expected<WatchPlan, Answer> PlanWatch(const Request& request);

  void SetVersions(std::vector<std::string> versions);  // Of resource.k8s.io, the preferred first.
  void SetWriteHook(WriteHook hook);
  // What /version says and, when there are any, what /metrics does. Nothing else follows from it.
  void SetRelease(std::string version, std::map<std::string, bool> gates);

 private:
  Answer Route(const Request& request, Caller caller);
  bool Serves(const Target& target) const;
  Answer Discover(std::string_view path) const;
  Answer Version() const;  // Under mutex_, as …
  Answer Metrics() const;  // … this.
  Answer Get(const Target& target) const;
  Answer List(const Target& target, const Request& request) const;
  Answer Create(Target target, const Request& request, Caller caller);
  Answer Replace(const Target& target, const Request& request, Caller caller);
  Answer Patch(const Target& target, const Request& request, Caller caller);
  Answer Delete(const Target& target, const Request& request);
  Answer DeleteCollection(const Target& target, const Request& request);

  Answer Update(const Target& target, const ObjectRef& old, json::Object object, Caller caller);
  Answer Insert(const Target& target, json::Object object, Caller caller);
  ObjectRef RemoveOrMark(const ObjectRef& object);
  void RunHook(const Target& target, json::Object& object, std::vector<Field>& headers) const;

  Store& store_;
  std::mutex writes_;       // Held over each read-check-write.
  AppliedDevices applied_;  // Under writes_.

  mutable std::mutex mutex_;  // Guards what can be set.
  std::vector<std::string> versions_{"v1"};
  WriteHook hook_;
  std::string release_ = "v1.36.4";  // "v1." and so on.
  std::map<std::string, bool> gates_;
};

// The object's text as the target's version shows it, with or without kind and apiVersion.
std::string Shown(const Target& target, const Stored& object);

}  // namespace tessera::standin
