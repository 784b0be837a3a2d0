#include "kube/watch.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/log.h"
#include "base/text.h"
#include "json/decode.h"
#include "kube/api_error.h"
#include "kube/flow.h"

namespace tessera::kube {
namespace {

using std::chrono::steady_clock;

constexpr int kPageSize = 500;
constexpr int kListAttempts = 3;  // Lists that a 410 in the middle may cost before it counts as a failure.
constexpr std::chrono::seconds kPageTime{60};

struct ListMeta {
  std::string resource_version, next;
};
template <class F>
void Describe(F& f, ListMeta& m) {
  f.Required("resourceVersion", m.resource_version);
  f.Optional("continue", m.next);
}
struct List {
  ListMeta metadata;
  std::vector<json::Value> items;
};
template <class F>
void Describe(F& f, List& l) {
  f.Required("metadata", l.metadata);
  f.Optional("items", l.items);
}

struct Event {
  std::string type;
  json::Value object;
};
template <class F>
void Describe(F& f, Event& e) {
  f.Required("type", e.type);
  f.Required("object", e.object);
}

std::string VersionOf(const json::Value& object) {
  const json::Object* fields = object.if_object();
  const json::Value* metadata = fields != nullptr ? fields->if_contains("metadata") : nullptr;
  const json::Object* inner = metadata != nullptr ? metadata->if_object() : nullptr;
  const json::Value* version = inner != nullptr ? inner->if_contains("resourceVersion") : nullptr;
  const json::String* text = version != nullptr ? version->if_string() : nullptr;
  return text != nullptr ? std::string(*text) : std::string();
}

std::optional<Change> ChangeOf(std::string_view type) {
  if (type == "ADDED") return Change::kAdded;
  if (type == "MODIFIED") return Change::kModified;
  if (type == "DELETED") return Change::kDeleted;
  return std::nullopt;
}

}  // namespace

class Watch::Impl {
 public:
  Impl(Client& client, ResourceApi& api, WatchOptions options, WatchHandlers handlers)
      : client_(client),
        api_(api),
        options_(std::move(options)),
        handlers_(std::move(handlers)),
        backoff_(options_.backoff_from, options_.backoff_to),
        thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  std::uint64_t relists() const { return relists_; }
  std::uint64_t failures() const { return failures_; }

 private:
  void Run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      moved_ = false;
      const Result<void> done = version_.empty() ? ListAll(stop) : Follow(stop);
      if (done.has_value()) continue;
      if (stop.stop_requested()) return;
      const std::string_view code = done.error().code();
      if (code == "ApiNotFound") api_.Forget();
      if (code == "ApiGone") version_.clear();
      // A stream that had begun has only ended early; and a version that is too old says to list, which is no failure
      // unless the next one is too old as well.
      const bool forgiven = code == "ApiGone" ? !std::exchange(gone_, true) : moved_;
      if (forgiven) continue;
      Fail(done.error());
      if (!PauseUntil(steady_clock::now() + backoff_.Next(), stop)) return;
    }
  }

  void Fail(const Error& error) {
    ++failures_;
    if (std::exchange(failing_, true)) {
      log::Verbose(4, "Watch still fails", {{"resource", options_.resource}, {"err", error.message()}});
    } else {
      handlers_.on_error(error);
    }
  }

  // Something good came: the run of failures is over.
  void Progress() {
    moved_ = true;
    gone_ = false;
    failing_ = false;
    backoff_.Reset();
  }

  Result<void> ListAll(const std::stop_token& stop) {
    for (int attempt = 1;; ++attempt) {
      auto listed = ListPages(stop);
      // A page's token expires with the version it belongs to; then the pages do not fit together any more.
      const bool expired = !listed.has_value() && listed.error().code() == "ApiGone";
      if (expired && attempt < kListAttempts) continue;
      if (!listed.has_value()) return std::unexpected(std::move(listed).error());
      if (listed_) ++relists_;
      listed_ = true;
      if (!gone_) Progress();
      version_ = std::move(listed->metadata.resource_version);
      handlers_.on_list(std::move(listed->items));
      return {};
    }
  }

  Result<List> ListPages(const std::stop_token& stop) {
    List all;
    do {
      const Call call{.deadline = steady_clock::now() + kPageTime, .retry = false, .stop = stop};
      std::string query = Format("?limit={}", kPageSize);
      if (!all.metadata.next.empty()) query += "&continue=" + Escape(all.metadata.next);
      TESSERA_ASSIGN(const std::string path, PathOf(std::move(query), call));
      TESSERA_ASSIGN(const json::Value answer, client_.Get(path, call));
      auto page = json::Decode<List>(answer, json::Unknown::kIgnore);
      if (!page.has_value()) return Transient("ApiUnexpected", Format("GET {}: {}", path, page.error().message()));
      all.metadata = std::move(page->metadata);
      std::ranges::move(page->items, std::back_inserter(all.items));
    } while (!all.metadata.next.empty());
    return all;
  }

  Result<std::string> PathOf(std::string query, const Call& call) {
    if (!options_.field_selector.empty()) query += "&fieldSelector=" + Escape(options_.field_selector);
    return api_.Path(options_.resource + query, call);
  }

  Result<void> Follow(const std::stop_token& stop) {
    const Call call{.deadline = steady_clock::now() + kPageTime, .stop = stop};
    const auto ends = std::chrono::ceil<std::chrono::seconds>(backoff_.Jitter(options_.server_timeout));
    TESSERA_ASSIGN(const std::string path,
                   PathOf(Format("?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                                 Escape(version_), ends.count()),
                          call));
    Result<void> handled;
    const auto on_line = [&](std::string_view line) {
      handled = HandleLine(line);
      return handled.has_value() && !stop.stop_requested();
    };
    TESSERA_TRY(client_.Stream(path, options_.quiet, stop, on_line));
    TESSERA_TRY(handled);
    Progress();  // Ended by the server, in order, though perhaps without one event.
    return {};
  }

  Result<void> HandleLine(std::string_view line) {
    const auto value = json::ParseJson(line);
    auto event = value.has_value() ? json::Decode<Event>(*value, json::Unknown::kIgnore)
                                   : Result<Event>(std::unexpected(value.error()));
    if (!event.has_value()) {
      version_.clear();  // What it said is lost: only a list makes up for it.
      return Transient("ApiUnexpected",
                       Format("watching {}: an event cannot be read: {}", options_.resource, event.error().message()));
    }
    if (event->type == "ERROR") {
      return std::unexpected(ApiError(ReadStatus(event->object), "GET", "watching " + options_.resource));
    }
    if (std::string version = VersionOf(event->object); !version.empty()) version_ = std::move(version);
    Progress();
    if (const auto change = ChangeOf(event->type)) handlers_.on_change(*change, std::move(event->object));
    return {};
  }

  Client& client_;
  ResourceApi& api_;
  const WatchOptions options_;
  const WatchHandlers handlers_;

  // Only the thread's.
  Backoff backoff_;
  std::string version_;   // Where to go on; empty: list first.
  bool listed_ = false;   // There was a list before.
  bool moved_ = false;    // This stream brought something.
  bool gone_ = false;     // The version was too old, and nothing has come since.
  bool failing_ = false;  // This run of failures was reported.

  std::atomic<std::uint64_t> relists_ = 0;
  std::atomic<std::uint64_t> failures_ = 0;
  std::jthread thread_;  // Last: joins first.
};

Watch::Watch(Client& client, ResourceApi& api, WatchOptions options, WatchHandlers handlers)
    : impl_(std::make_unique<Impl>(client, api, std::move(options), std::move(handlers))) {}
Watch::~Watch() = default;

std::uint64_t Watch::relists() const { return impl_->relists(); }
std::uint64_t Watch::failures() const { return impl_->failures(); }

}  // namespace tessera::kube
