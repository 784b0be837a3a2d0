// journal/store.h: the journal's directory, lock and file. Knows bytes, not records.
//
// Everything is opened relative to the directory and without following links: other programs may write beside us.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "journal/contents.h"

namespace tessera::journal {

// Not thread-safe: its owner has a mutex.
// Tells a file from another one that took its name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};

class Store {
 public:
  using File = std::shared_ptr<const UniqueFd>;

  explicit Store(std::filesystem::path directory);

  // Released when destroyed.
  class Lock {
   public:
    explicit Lock(int fd) : fd_(fd) {}
    Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Lock& operator=(Lock&&) = delete;
    ~Lock();

   private:
    int fd_;
  };
  // Keeps other processes out; makes directory and lock file if they are missing. Holders work for microseconds, or
  // for one sync while compacting, so waiting ends soon: with the transient error "JournalBusy" if one was stopped.
  Result<Lock> Acquire();

  // What happened to the file since it was opened.
  enum class Change : std::uint8_t { kNone, kReplaced, kMissing };
  struct Sight {
    Change change = Change::kReplaced;
    std::uint64_t size = 0;  // When it is still the same file.
  };
  Sight Look() const;

  // Opens the file that is there now; makes it when `writable`.
  Result<void> Open(bool writable);
  void Close() { file_ = nullptr; }
  const File& file() const { return file_; }  // Null before Open().
  bool is_writable() const { return writable_; }
  // For Sees(), which needs nothing else of the store.
  int directory() const { return directory_.get(); }
  const FileId& file_id() const { return file_id_; }
  // Whether the journal in this directory is this file, with this size.
  static bool Sees(int directory, const FileId& file, std::uint64_t size);
  Result<std::uint64_t> Size() const;

  // Adds `text` at `end`. After a failure the file ends at `end` again. Errors: "DiskFull", "JournalUnwritable".
  Result<void> Append(std::uint64_t end, std::string_view text);
  Result<void> Truncate(std::uint64_t end);
  // Sees to it that `bytes` can be written behind `end` even when the disk is full. Error: "DiskFull".
  Result<void> Reserve(std::uint64_t end, std::uint64_t bytes);

  // Puts a new file with these lines of the present one in its place, durably; returns its size. After a crash at any
  // point one of both is there, whole.
  Result<std::uint64_t> Rewrite(std::span<const Span> lines);

  // Copies damaged parts to journal.quarantine-<time>, durably, and returns its path. Old quarantines are removed.
  Result<std::filesystem::path> Quarantine(std::span<const Span> parts);

 private:
  Result<void> OpenDirectory();
  Result<void> OpenLockFile();
  Result<void> CopyTo(int target, std::span<const Span> parts, std::uint64_t limit_each) const;
  void RemoveOldQuarantines() const;
  Error Failure(int number, std::string_view doing) const;

  const std::filesystem::path path_;
  UniqueFd directory_, lock_file_;
  File file_;
  FileId lock_id_, file_id_;
  bool writable_ = false;
  std::uint64_t reserved_until_ = 0;  // In file_.
};

}  // namespace tessera::journal
