// tests/standin/connection.h: one connection of the API server double: reads requests, plays faults, answers, watches.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string_view>

#include "tests/standin/api.h"
#include "tests/standin/faults.h"
#include "tests/standin/http.h"
#include "tests/standin/seen.h"
#include "tests/standin/store.h"
#include "tests/standin/tls.h"

namespace tessera::standin {

// What connections share. Outlives them all.
struct Shared {
  Store& store;
  Api& api;
  Faults& faults;
  SeenLog& seen;
  std::function<bool(std::string_view authorization)> authorized;  // Of requests without a client certificate.
  std::chrono::milliseconds bookmark_interval;
};

// Serves until the peer leaves, a fault closes, `stop` is requested (then Break() the stream as well).
class Connection {
 public:
  Connection(TlsStream& stream, const Shared& shared, std::stop_token stop)
      : stream_(stream), shared_(shared), stop_(std::move(stop)) {}
  void Serve();

 private:
  // These are false when the connection is over.
  bool Respond(const Request& request);
  bool RespondBadly(const Request& request, const Faults::Taken& taken);
  bool Watch(const Request& request, const Fault* fault);
  bool SendEvents(const WatchPlan& plan, bool half);
  bool SendLine(std::string_view line, bool half);
  bool SendBookmark(const WatchPlan& plan, std::uint64_t version);
  Answer Handle(const Request& request);

  TlsStream& stream_;
  const Shared& shared_;
  const std::stop_token stop_;
};

}  // namespace tessera::standin
