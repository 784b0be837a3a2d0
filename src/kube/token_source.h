// kube/token_source.h: where bearer tokens come from. Internal to kube/.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "kube/access.h"

namespace tessera::kube {

// A token as a request can carry it: without blanks around it. Refuses one that is empty or not printable.
Result<std::string> CheckToken(std::string_view text, std::string_view where);

class FixedToken final : public TokenSource {
 public:
  explicit FixedToken(std::string token) : token_(std::move(token)) {}
  Result<std::string> Token() override { return token_; }

 private:
  const std::string token_;
};

// Read again when the file changes and at least every minute. While it cannot be read, the last token is used until the
// server rejects it.
class TokenFile final : public TokenSource {
 public:
  explicit TokenFile(std::filesystem::path path, const Clock& clock = SystemClock())
      : path_(std::move(path)), clock_(clock) {}

  Result<std::string> Token() override;
  void Reject() override;

 private:
  const std::filesystem::path path_;
  const Clock& clock_;

  std::mutex mutex_;  // Guards everything below.
  std::string token_;
  struct stat seen_{};
  std::chrono::steady_clock::time_point read_at_{};
};

}  // namespace tessera::kube
