// tests/standin/faults.h: how the API server double misbehaves when a test asks for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/standin/http.h"

namespace tessera::standin {

struct Fault {
  enum class Kind : std::uint8_t {
    kStatus,       // Refuses with `status` and its Status object; with Retry-After when `retry_after` is set.
    kWatchError,   // Grants the watch, sends an ERROR event with `status`, ends it. For other requests: kStatus.
    kHang,         // Says nothing until the fault is removed; then answers.
    kDelay,        // Answers after `delay`.
    kClose,        // Closes the connection instead of answering.
    kCloseInBody,  // Sends half of the body, then closes; of a watch, half of the first line.
    kGarbage,      // Sends bytes that are no HTTP, then closes.
    kSlow,         // Sends the answer byte by byte, `delay` apart. Not for watches.
  };

  std::string method = {};  // Empty: any.
  std::string path = {};    // A part of path and query, as sent. Empty: any.
  int times = 1;            // So many requests; -1: until removed.
  int skip = 0;             // Lets so many pass first.
  Kind kind = Kind::kStatus;
  int status = 500;
  int retry_after = 0;  // Seconds.
  std::chrono::milliseconds delay{0};
  bool acts = false;  // kHang, kClose, kGarbage: the request is carried out before, only its answer suffers.
};

// The script. Safe to call from any thread.
class Faults {
 public:
  using Id = std::uint64_t;
  struct Taken {
    Id id;
    Fault fault;
  };

  Id Add(Fault fault);
  void Remove(Id id);  // Requests that hang on it are answered.
  void Clear();        // All of them.

  // How many requests hang now.
  int hanging() const;
  bool WaitHanging(int count, std::chrono::milliseconds timeout) const;  // Until at least so many do.

  // The server's side: the first fault in order of addition that this request meets.
  std::optional<Taken> Take(const Request& request);
  void Hang(Id id, const std::stop_token& stop);                                   // Until removed or stopped.
  void Pause(std::chrono::milliseconds delay, const std::stop_token& stop) const;  // Or stopped.

 private:
  struct Entry {
    Id id;
    Fault fault;
  };

  mutable std::mutex mutex_;  // Guards everything below.
  mutable std::condition_variable_any changed_;
  std::vector<Entry> entries_;  // A spent one with kHang stays, until it is removed.
  Id next_ = 1;
  int hanging_ = 0;
};

}  // namespace tessera::standin
