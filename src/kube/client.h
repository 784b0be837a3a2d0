// kube/client.h: requests to the Kubernetes API server. Start here.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "json/value.h"
#include "kube/access.h"
#include "net/http_client.h"

namespace tessera::kube {

using net::Deadline;

// Background work shares a budget of requests (--kube-api-qps); what a pod waits for never queues behind it.
enum class Lane : std::uint8_t { kBackground, kUrgent };

struct Call {
  Deadline deadline;
  Lane lane = Lane::kBackground;
  bool retry =
      false;  // Repeat transient failures until the deadline, with backoff, jitter and the server's Retry-After.
  std::stop_token stop = {};
};

// Codes of API errors: "ApiNotFound" (404), "ApiConflict" (409 on update), "ApiExists" (409 on create), "ApiForbidden"
// (403), "ApiUnauthorized" (401), "ApiInvalid" (400, 422), "ApiGone" (410), "ApiThrottled" (429), "ApiServerError"
// (5xx), "ApiUnexpected" (anything else or a body we cannot read), and those of net/ when no answer came. 409, 410, 429
// and 5xx are transient, 401 and 403 too (RBAC and tokens are repaired while we run), 400, 404 and 422 permanent-config.
// The message carries the server's own words.
class Client {
 public:
  struct Options {
    Access access;
    std::string user_agent;
    double qps = 5;  // Of the background lane.
    int burst = 10;
    const Clock* clock = nullptr;  // SystemClock() unless a test sets another.
  };
  static Result<std::unique_ptr<Client>> Create(Options options);
  ~Client();

  Result<json::Value> Get(std::string_view path, const Call& call);
  Result<json::Value> Create(std::string_view path, const json::Value& body, const Call& call);  // POST
  Result<json::Value> Update(std::string_view path, const json::Value& body, const Call& call);  // PUT
  // `content_type`: "application/merge-patch+json", …
  Result<json::Value> Patch(std::string_view path, std::string_view content_type, const json::Value& body,
                            const Call& call);
  // Server-side apply: the fields of `body` become those of `field_manager`, also where another manager had set them,
  // and fields that it applied before and does not name any more go. Other managers' fields stay.
  Result<json::Value> Apply(std::string_view path, std::string_view field_manager, const json::Value& body,
                            const Call& call);
  // Only the object with this UID and resource version, when they are given. Not found counts as done.
  Result<void> Delete(std::string_view path, std::string_view uid, std::string_view resource_version, const Call& call);

  // The warnings (299) of answers since the last call, at most a few, without repeats.
  std::vector<std::string> TakeWarnings();

  // One watch stream: lines of JSON until it ends. See watch.h.
  Result<void> Stream(std::string_view path, std::chrono::milliseconds quiet, const std::stop_token& stop,
                      const std::function<bool(std::string_view line)>& on_line);

  const std::string& server() const;  // For messages.

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "a b" as "a%20b": for values in queries and for path segments.
std::string Escape(std::string_view text);

// Which version of resource.k8s.io the server speaks, asked once and again when an answer says that it changed.
// Safe to call from any thread.
class ResourceApi {
 public:
  explicit ResourceApi(Client& client) : client_(client) {}
  // "v1", "v1beta2" or "v1beta1", the newest that both sides know. An error says what the server offers, and how the
  // API is switched on.
  Result<std::string> Version(const Call& call);
  // "/apis/resource.k8s.io/<version>/…" of `rest`.
  Result<std::string> Path(std::string_view rest, const Call& call);
  // A 404 of a path below the version: asks again next time.
  void Forget();

 private:
  Client& client_;
  std::mutex mutex_;  // Guards version_.
  std::string version_;
};

}  // namespace tessera::kube
