#include "base/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tessera {
namespace {

// What a retry can cure without a person: a full table empties, a busy file is let go.
bool IsPassing(int number) {
  switch (number) {
    case EAGAIN:
    case EINTR:
    case EBUSY:
    case ETIMEDOUT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view ToString(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kTransient:
      return "transient";
    case ErrorKind::kPermanentConfig:
      return "permanent-config";
    case ErrorKind::kPermanentDevice:
      return "permanent-device";
  }
  std::unreachable();
}

Error Error::Wrap(std::string_view doing) && {
  message_ = std::string(doing) + ": " + message_;
  return std::move(*this);
}

std::string Error::Text() const { return advice_.empty() ? message_ : message_ + "; " + advice_; }

std::unexpected<Error> Transient(std::string_view code, std::string message, std::string advice) {
  return std::unexpected(Error(ErrorKind::kTransient, code, std::move(message), std::move(advice)));
}

std::unexpected<Error> BadConfig(std::string_view code, std::string message, std::string advice) {
  return std::unexpected(Error(ErrorKind::kPermanentConfig, code, std::move(message), std::move(advice)));
}

std::unexpected<Error> BadDevice(std::string_view code, std::string message, std::string advice) {
  return std::unexpected(Error(ErrorKind::kPermanentDevice, code, std::move(message), std::move(advice)));
}

std::unexpected<Error> FromErrno(int number, std::string_view code, std::string_view doing) {
  char buffer[128];
  const char* text = ::strerror_r(number, buffer, sizeof buffer);  // GNU's: thread-safe, returns the text.
  const auto kind = IsPassing(number) ? ErrorKind::kTransient : ErrorKind::kPermanentConfig;
  return std::unexpected(Error(kind, code, std::string(doing) + ": " + text));
}

void Abort(std::string_view message) {
  std::fprintf(stderr, "bug: %.*s\n", static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace tessera
