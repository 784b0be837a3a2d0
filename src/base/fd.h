// base/fd.h: file descriptors that close themselves, and whole-file reads and writes with limits.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace tessera {

// Owns one descriptor; -1 is none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// What a file of ours or of the kernel may reasonably hold.
inline constexpr std::size_t kMaxFileSize = std::size_t{16} << 20;

// The whole file, or an error: absent, unreadable, not a regular file or larger than `limit`. Never blocks on a FIFO.
Result<std::string> ReadFile(const std::filesystem::path& path, std::size_t limit = kMaxFileSize);

// Replaces `path` by rename: after a crash it holds the old content or the new, never a mix. Not synced.
Result<void> ReplaceFile(const std::filesystem::path& path, std::string_view content, mode_t mode = 0644);

// The same, synced before the rename, through one temporary name: callers must exclude each other, and a crash leaves at
// most that one file (`path`.tmp), which the next call writes anew.
Result<void> ReplaceFileDurably(const std::filesystem::path& path, std::string_view content, mode_t mode = 0644);

// Writes all of `data`, through short writes and signals. Never raises SIGPIPE on a socket.
Result<void> WriteAll(int fd, std::string_view data);

// A fresh directory below $TMPDIR (or /tmp), removed with all its content on destruction.
class TempDir {
 public:
  static Result<TempDir> Create(std::string_view prefix);
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TempDir();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path Release() { return std::exchange(path_, {}); }  // The caller removes it.

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace tessera
