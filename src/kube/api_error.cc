#include "kube/api_error.h"

#include <algorithm>

#include "base/text.h"
#include "json/decode.h"

namespace tessera::kube {
namespace {

// Whatever a server asks for, we look again after this long.
constexpr std::chrono::seconds kMaxRetryAfter{120};

struct Details {
  std::int64_t retry_after = 0;
};
template <class F>
void Describe(F& f, Details& d) {
  f.Optional("retryAfterSeconds", d.retry_after);
}
struct Wire {
  std::string kind, message, reason;
  int code = 0;
  Details details;
};
template <class F>
void Describe(F& f, Wire& w) {
  f.Optional("kind", w.kind);
  f.Optional("message", w.message);
  f.Optional("reason", w.reason);
  f.Optional("code", w.code);
  f.Optional("details", w.details);
}

std::optional<std::chrono::seconds> Bounded(std::int64_t seconds) {
  if (seconds <= 0) return std::nullopt;
  return std::min(kMaxRetryAfter, std::chrono::seconds(seconds));
}

struct Meaning {
  ErrorKind kind;
  std::string_view code, advice;
};

Meaning MeaningOf(const ApiStatus& status, std::string_view method) {
  using enum ErrorKind;
  const bool exists = status.reason == "AlreadyExists" || (status.reason.empty() && method == "POST");
  switch (status.code) {
    case 400:
    case 422:
      return {kPermanentConfig, "ApiInvalid", ""};
    case 401:
      return {kTransient, "ApiUnauthorized", "Check the token or the client certificate."};
    case 403:
      return {kTransient, "ApiForbidden", "Grant it with a Role or ClusterRole."};
    case 404:
      return {kPermanentConfig, "ApiNotFound", ""};
    case 409:
      return {kTransient, exists ? std::string_view("ApiExists") : std::string_view("ApiConflict"), ""};
    case 410:
      return {kTransient, "ApiGone", ""};
    case 429:
      return {kTransient, "ApiThrottled", ""};
    default:
      if (status.code >= 500 && status.code < 600) return {kTransient, "ApiServerError", ""};
      return {kTransient, "ApiUnexpected", ""};
  }
}

}  // namespace

ApiStatus ReadStatus(const json::Value& value) {
  const auto wire = json::Decode<Wire>(value, json::Unknown::kIgnore);
  if (!wire.has_value() || wire->kind != "Status") return {};
  return {.message = std::string(Clip(wire->message, 4096)),
          .reason = wire->reason,
          .code = wire->code,
          .retry_after = Bounded(wire->details.retry_after)};
}

ApiStatus ReadStatus(const net::HttpResponse& response) {
  ApiStatus status;
  if (const auto body = json::ParseJson(response.body); body.has_value()) status = ReadStatus(*body);
  if (status.message.empty()) status.message = Clip(Trim(response.body), 200);
  status.code = response.status;  // A proxy may have changed it, and it is what the connection says.
  if (const auto seconds = ParseNumber<std::int64_t>(response.header("Retry-After"))) {
    status.retry_after = Bounded(*seconds);
  }
  return status;
}

Error ApiError(const ApiStatus& status, std::string_view method, std::string_view doing) {
  const Meaning meaning = MeaningOf(status, method);
  std::string message = Format("{}: {}", doing, status.code);
  if (!status.reason.empty()) message += " " + status.reason;
  if (!status.message.empty()) message += ": " + status.message;
  return {meaning.kind, meaning.code, std::move(message), std::string(meaning.advice)};
}

}  // namespace tessera::kube
