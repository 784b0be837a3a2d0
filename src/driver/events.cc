#include "driver/events.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"

namespace tessera::driver {
namespace {

constexpr std::size_t kMaxMessage = 1024;  // The API server's limit for an Event's message.
constexpr std::size_t kMaxKnown = 512;
constexpr std::chrono::seconds kDrain{2};

}  // namespace

EventTarget ClaimTarget(const api::ClaimRef& claim, std::string_view resource_version) {
  return {Format("resource.k8s.io/{}", resource_version), "ResourceClaim", claim.namespace_name, claim.name, claim.uid};
}

// Events about objects without a namespace live in "default", and the UID of a Node's Events is its name: so does the
// kubelet write them, and so does `kubectl describe node` look for them.
EventTarget NodeTarget(std::string_view node_name) {
  return {"v1", "Node", "default", std::string(node_name), std::string(node_name)};
}

Events::Events(Options options, EventSink& sink, Metrics& metrics)
    : options_(std::move(options)),
      clock_(options_.clock != nullptr ? *options_.clock : SystemClock()),
      sink_(sink),
      metrics_(metrics),
      tokens_(options_.burst),
      refilled_(clock_.Monotonic()),
      worker_([this] { Run(); }) {}

Events::~Events() {
  closing_ = true;
  queue_.Close();
}

void Events::Post(EventTarget target, EventType type, std::string_view reason, std::string message) {
  if (target.namespace_name.empty() || target.name.empty()) return;  // A claim adopted without its name.
  message.resize(Clip(message, kMaxMessage).size());
  if (!queue_.TryPush(Wanted{std::move(target), type, std::string(reason), std::move(message)})) {
    metrics_.events.With({"dropped"}).Add();
  }
}

void Events::Run() {
  std::optional<std::chrono::steady_clock::time_point> end;
  while (const auto wanted = queue_.Pop({})) {
    if (closing_ && !end) end = std::chrono::steady_clock::now() + kDrain;
    if (end && std::chrono::steady_clock::now() > *end) return;
    Write(*wanted);
  }
}

bool Events::TakeToken() {
  const auto now = clock_.Monotonic();
  tokens_ = std::min<double>(options_.burst,
                             tokens_ + std::chrono::duration<double>(now - refilled_).count() * options_.per_second);
  refilled_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

// The one that was written longest ago goes.
void Events::Forget() {
  if (known_.size() < kMaxKnown) return;
  known_.erase(std::ranges::min_element(known_, {}, [](const auto& item) { return item.second.written; }));
}

void Events::Write(const Wanted& wanted) {
  const EventTarget& target = wanted.target;
  const std::string key =
      Format("{}\n{}\n{}\n{}\n{}", target.namespace_name, target.name, target.uid, wanted.reason, wanted.message);
  const auto found = known_.find(key);
  const auto now = clock_.Monotonic();
  if (found != known_.end()) {
    Known& known = found->second;
    ++known.count;
    if (now - known.written < known.wait) return metrics_.events.With({"merged"}).Add();
  }
  if (!TakeToken()) return metrics_.events.With({"dropped"}).Add();
  const std::string time = Rfc3339(clock_.Now());
  if (found != known_.end()) {
    Known& known = found->second;
    known.written = now;
    known.wait = std::min(known.wait * 2, options_.repeat_to);
    const auto patched =
        sink_.Patch(target.namespace_name, known.name, json::Object{{"count", known.count}, {"lastTimestamp", time}});
    if (patched) return metrics_.events.With({"repeated"}).Add();
    known_.erase(found);  // It expired on the server, most likely: written anew below.
  }
  Forget();
  // The API server refuses a second Event of the same name, so the name holds the time and a number.
  const std::string name =
      Format("{}.{:x}.{:x}", Clip(target.name, 200), clock_.Now().time_since_epoch().count(), ++serial_);
  const json::Object event{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", json::Object{{"name", name}, {"namespace", target.namespace_name}}},
      {"involvedObject", json::Object{{"apiVersion", target.api_version},
                                      {"kind", target.kind},
                                      {"namespace", target.kind == "Node" ? "" : target.namespace_name},
                                      {"name", target.name},
                                      {"uid", target.uid}}},
      {"reason", wanted.reason},
      {"message", wanted.message},
      {"type", wanted.type == EventType::kWarning ? "Warning" : "Normal"},
      {"source", json::Object{{"component", options_.component}, {"host", options_.node_name}}},
      {"reportingComponent", options_.component},
      {"reportingInstance", options_.node_name},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"count", 1}};
  auto created = sink_.Create(target.namespace_name, event);
  metrics_.events.With({created ? "created" : "failed"}).Add();
  if (!created) return log::Failure(created.error(), "Could not write an Event", {{"reason", wanted.reason}});
  known_[key] = {.name = *std::move(created), .count = 1, .written = now, .wait = options_.repeat_after};
}

}  // namespace tessera::driver
