// net/transfer.h: one request and its answer on one connection. Internal to net/.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/connection.h"
#include "net/http_client.h"

namespace tessera::net {

// Head and body as they go over the wire, or an error when a part could not stand there (a line end in a header).
Result<std::string> Serialize(const HttpRequest& request, std::string_view host);

struct Progress {
  bool answered = false;  // At least one byte of an answer came.
  bool reusable = false;  // The answer is complete, and the server keeps the connection open.
};

// What arrives of a body that is not kept; false ends it.
using OnData = std::function<bool(std::string_view data)>;

struct Asked {
  std::string_view method;
  std::string_view wire;  // From Serialize().
  const Limits& limits;
};

// Sends and reads the whole answer.
Result<HttpResponse> Transfer(Connection& connection, const Asked& asked, const Patience& patience, Progress& progress);

// As HttpClient::Stream().
Result<HttpResponse> TransferStream(Connection& connection, const Asked& asked, const Patience& head,
                                    std::chrono::milliseconds quiet, const OnData& on_data, Progress& progress);

}  // namespace tessera::net
