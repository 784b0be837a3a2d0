// base/error.h: how a function says that it failed.
//
// A fallible function returns Result<T>. The kind tells the machine what to do, the code is the stable name in
// metrics and events, the message tells a person what was found, the advice what to do about it.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

enum class ErrorKind : std::uint8_t {
  kTransient,        // Retry with backoff: API 409/429/5xx, timeout, device busy.
  kPermanentConfig,  // A person must change an object, a flag or a file.
  kPermanentDevice,  // A person must repair the node: GPU lost, driver mismatch.
};

// "transient", "permanent-config", "permanent-device": the metric label.
std::string_view ToString(ErrorKind kind);

class [[nodiscard]] Error {
 public:
  // `code` is a literal in PascalCase, such as "DriverNotFound"; it is never freed.
  Error(ErrorKind kind, std::string_view code, std::string message, std::string advice = {})
      : kind_(kind), code_(code), message_(std::move(message)), advice_(std::move(advice)) {}

  ErrorKind kind() const { return kind_; }
  std::string_view code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& advice() const { return advice_; }  // May be empty.

  // Prefixes what we were doing: "preparing claim default/a: <message>".
  Error Wrap(std::string_view doing) &&;

  // The message, and the advice after a semicolon when there is one.
  std::string Text() const;

  bool operator==(const Error&) const = default;

 private:
  ErrorKind kind_;
  std::string_view code_;
  std::string message_;
  std::string advice_;
};

template <class T>
using Result = std::expected<T, Error>;

// The usual kinds, ready to return.
std::unexpected<Error> Transient(std::string_view code, std::string message, std::string advice = {});
std::unexpected<Error> BadConfig(std::string_view code, std::string message, std::string advice = {});
std::unexpected<Error> BadDevice(std::string_view code, std::string message, std::string advice = {});

// An errno as an error: "opening /x: No such file or directory". The kind follows from the number.
std::unexpected<Error> FromErrno(int number, std::string_view code, std::string_view doing);

// Stops the process with a message: an invariant of ours is broken, and a restart is cheaper than a wrong device
// in a pod.
[[noreturn]] void Abort(std::string_view message);

}  // namespace tessera

// g++ 12 has std::expected without and_then, so these two do the early return. No others are wanted.
#define TESSERA_TRY(expression)                                  \
  do {                                                           \
    auto tessera_result = (expression);                          \
    if (!tessera_result.has_value()) {                           \
      return std::unexpected(std::move(tessera_result).error()); \
    }                                                            \
  } while (false)

#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)
#define TESSERA_ASSIGN(declaration, expression) \
  TESSERA_ASSIGN_INNER(TESSERA_CONCAT(tessera_result_, __LINE__), declaration, expression)
#define TESSERA_ASSIGN_INNER(result, declaration, expression)                 \
  auto result = (expression);                                                 \
  if (!result.has_value()) return std::unexpected(std::move(result).error()); \
  declaration = std::move(result).value()
