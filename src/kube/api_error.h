// kube/api_error.h: what the API server's refusals mean to us. Internal to kube/.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/value.h"
#include "net/http_client.h"

namespace tessera::kube {

// metav1.Status, as far as we read it.
struct ApiStatus {
  std::string message, reason;
  int code = 0;
  std::optional<std::chrono::seconds> retry_after;
};

// Never fails: what cannot be read is left empty.
ApiStatus ReadStatus(const json::Value& value);

// From the body (a Status, or a line of a proxy's text) and the Retry-After header, which wins.
ApiStatus ReadStatus(const net::HttpResponse& response);

// The codes that client.h promises. `doing`: "GET /api/v1/nodes/a".
Error ApiError(const ApiStatus& status, std::string_view method, std::string_view doing);

}  // namespace tessera::kube
