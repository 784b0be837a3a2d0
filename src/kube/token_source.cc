#include "kube/token_source.h"

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"

namespace tessera::kube {
namespace {

constexpr std::chrono::minutes kReadAtLeast{1};
constexpr std::size_t kMaxToken = std::size_t{64} << 10;

// A projected token is replaced by swapping a symbolic link, so that another inode appears under the same path.
bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

Result<std::string> CheckToken(std::string_view text, std::string_view where) {
  const std::string_view token = Trim(text);
  const bool printable = std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7F; });
  if (token.empty() || !printable) return BadConfig("TokenInvalid", Format("{} holds no bearer token", where));
  return std::string(token);
}

Result<std::string> TokenFile::Token() {
  const std::lock_guard lock(mutex_);
  struct stat now{};
  const bool found = ::stat(path_.c_str(), &now) == 0;
  const bool fresh = clock_.Monotonic() - read_at_ < kReadAtLeast && found && SameFile(now, seen_);
  if (!token_.empty() && fresh) return token_;
  auto token = ReadFile(path_, kMaxToken);
  if (token.has_value()) token = CheckToken(*token, path_.string());
  if (!token.has_value()) return token_.empty() ? token : token_;
  token_ = *token;
  seen_ = now;
  read_at_ = clock_.Monotonic();
  return token;
}

void TokenFile::Reject() {
  const std::lock_guard lock(mutex_);
  token_.clear();
}

}  // namespace tessera::kube
