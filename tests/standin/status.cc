#include "tests/standin/status.h"

#include "base/text.h"

namespace tessera::standin {
namespace {

std::string_view Reason(int code) {
  switch (code) {
    case 400:
      return "BadRequest";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 405:
      return "MethodNotAllowed";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 415:
      return "UnsupportedMediaType";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 500:
      return "InternalError";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "";
  }
}

// "resourceslices.resource.k8s.io", "nodes".
std::string Qualified(const Key& key) { return key.group.empty() ? key.resource : key.resource + "." + key.group; }

std::string CannotFulfil(const Key& key, std::string_view why) {
  return Format("Operation cannot be fulfilled on {} {}: {}", Qualified(key), Quote(key.name), why);
}

}  // namespace

json::Value StatusObject(int code, std::string_view message, const Key& key, int retry_after) {
  json::Object details;
  if (!key.name.empty()) details.emplace("name", key.name);
  if (!key.group.empty()) details.emplace("group", key.group);
  if (!key.resource.empty()) details.emplace("kind", key.resource);
  if (retry_after > 0) details.emplace("retryAfterSeconds", retry_after);
  json::Object status{{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", json::Object()},
                      {"status", "Failure"}, {"message", message}, {"reason", Reason(code)}};
  if (!details.empty()) status.emplace("details", std::move(details));
  status.emplace("code", code);
  return status;
}

Answer Refuse(int code, std::string_view message, const Key& key) {
  return {.status = code, .body = json::PrintJson(StatusObject(code, message, key))};
}

Answer NotFound(const Key& key) { return Refuse(404, Format("{} {} not found", Qualified(key), Quote(key.name)), key); }

Answer AlreadyExists(const Key& key) {
  json::Value status = StatusObject(409, Format("{} {} already exists", Qualified(key), Quote(key.name)), key);
  status.as_object()["reason"] = "AlreadyExists";
  return {.status = 409, .body = json::PrintJson(status)};
}

Answer Modified(const Key& key) {
  return Refuse(409,
                CannotFulfil(key,
                             "the object has been modified; please apply your changes to the latest version and try "
                             "again"),
                key);
}

Answer PreconditionFailed(const Key& key, std::string_view what, std::string_view wanted, std::string_view found) {
  return Refuse(409,
                CannotFulfil(key, Format("Precondition failed: {} in precondition: {}, {} in object meta: {}", what,
                                         wanted, what, found)),
                key);
}

Answer NoSuchPage() {
  return {.status = 404, .body = "404 page not found\n", .content_type = "text/plain; charset=utf-8"};
}

Answer ContinueTooOld() {
  return Refuse(410,
                "The provided continue parameter is too old to display a consistent list result. You can start a new "
                "list without the continue parameter.");
}

json::Value WatchTooOld(std::uint64_t asked, std::uint64_t oldest) {
  return StatusObject(410, Format("too old resource version: {} ({})", asked, oldest));
}

}  // namespace tessera::standin
