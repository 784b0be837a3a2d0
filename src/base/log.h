// base/log.h: structured, klog-compatible logging, so that a cluster's existing parsers work.
//
//   log::Info("Prepared claim", {{"claim", name}, {"devices", count}});
//   log::Verbose(4, "Watch resumed", {{"version", version}});
//
// One line per event, logged by whoever handles it: return an error or log it, never both. Safe from any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/error.h"

namespace tessera::log {

enum class Format : std::uint8_t { kText, kJson };

struct Options {
  Format format = Format::kText;
  int verbosity = 0;  // As Kubernetes uses it: 0 always, 2 the daily steady state, 4 debug, 6 and more payloads.
  const Clock* clock = nullptr;                          // SystemClock() unless a test sets another.
  std::function<void(std::string_view line)> sink = {};  // Standard error unless set. Gets whole lines, one at a time.
};

// Call once at start, before other threads log.
void Configure(Options options);

// Whether messages of this verbosity are wanted.
bool V(int level);

// One key and its value. Holds views: use it only inside the call it is written in.
struct Field {
  using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, const std::string& v) : key(k), value(std::string_view(v)) {}
  Field(std::string_view k, bool v) : key(k), value(v) {}
  Field(std::string_view k, double v) : key(k), value(v) {}
  Field(std::string_view k, std::signed_integral auto v) : key(k), value(static_cast<std::int64_t>(v)) {}
  Field(std::string_view k, std::unsigned_integral auto v) : key(k), value(static_cast<std::uint64_t>(v)) {}

  std::string_view key;
  Value value;
};
using Fields = std::initializer_list<Field>;

void Info(std::string_view message, Fields fields = {}, std::source_location where = std::source_location::current());
// Only when messages of this level are wanted, and marked with it.
void Verbose(int level, std::string_view message, Fields fields = {},
             std::source_location where = std::source_location::current());
void Warning(std::string_view message, Fields fields = {},
             std::source_location where = std::source_location::current());
// The error's text, code and kind become the fields err, code and kind.
void Failure(const Error& error, std::string_view message, Fields fields = {},
             std::source_location where = std::source_location::current());

}  // namespace tessera::log
