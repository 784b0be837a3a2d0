#include "journal/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/text.h"

namespace tessera::journal {
namespace {

using namespace std::chrono_literals;

constexpr const char* kFile = "journal";
constexpr const char* kNewFile = "journal.new";
constexpr const char* kLockFile = "journal.lock";
constexpr std::string_view kQuarantine = "journal.quarantine-";
constexpr std::size_t kQuarantinesKept = 8;
constexpr int kSafely = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;  // Never blocks on a FIFO put there.
constexpr mode_t kPrivate = 0600;
constexpr auto kPatience = 10s;

FileId IdOf(const struct stat& status) { return {status.st_dev, status.st_ino}; }

// Of an open file.
FileId IdOf(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 ? IdOf(status) : FileId();
}

int SetLock(int fd, int type) {
  struct flock lock{};  // l_pid must be 0 for open-file-description locks.
  lock.l_type = static_cast<decltype(lock.l_type)>(type);
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &lock);
}

int WriteAt(int fd, std::string_view text, std::uint64_t offset) {
  while (!text.empty()) {
    const ssize_t put = ::pwrite(fd, text.data(), text.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return put < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return 0;
}

bool IsRegular(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Store::Store(std::filesystem::path directory) : path_(std::move(directory)) {}

Store::Lock::~Lock() {
  if (fd_ >= 0) SetLock(fd_, F_UNLCK);
}

Error Store::Failure(int number, std::string_view doing) const {
  const std::string what = Format("{} in {}", doing, path_.string());
  if (number == ENOSPC || number == EDQUOT || number == EFBIG) {
    return Error(ErrorKind::kTransient, "DiskFull", what + ": no space left", "free space on that file system");
  }
  Error error = FromErrno(number, "JournalUnwritable", what).error();
  return Error(error.kind(), error.code(), error.message(), "make the plugin's directory writable");
}

Result<void> Store::OpenDirectory() {
  if (directory_) return {};
  std::error_code ignored;  // Opening it says what is wrong.
  const bool made = std::filesystem::create_directories(path_, ignored);
  directory_.Reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_) return std::unexpected(Failure(errno, "opening the directory"));
  if (made) {
    const UniqueFd parent{::openat(directory_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (parent) ::fsync(parent.get());
  }
  return {};
}

Result<void> Store::OpenLockFile() {
  if (lock_file_) return {};
  TESSERA_TRY(OpenDirectory());
  lock_file_.Reset(::openat(directory_.get(), kLockFile, O_RDWR | O_CREAT | kSafely, kPrivate));
  if (!lock_file_) return std::unexpected(Failure(errno, "opening journal.lock"));
  lock_id_ = IdOf(lock_file_.get());
  return {};
}

Result<Store::Lock> Store::Acquire() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (auto pause = 50us;; pause = std::min(pause * 2, std::chrono::microseconds(5ms))) {
    TESSERA_TRY(OpenLockFile());
    if (SetLock(lock_file_.get(), F_WRLCK) == 0) {
      // A lock on a file that somebody removed meanwhile keeps nobody out.
      struct stat there{};
      const bool is_there = ::fstatat(directory_.get(), kLockFile, &there, AT_SYMLINK_NOFOLLOW) == 0;
      if (is_there && IdOf(there) == lock_id_) return Lock(lock_file_.get());
      lock_file_.Reset();
      continue;
    }
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      return std::unexpected(Failure(errno, "locking journal.lock"));
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return Transient("JournalBusy", Format("another process keeps {}/journal.lock locked", path_.string()),
                       "look for a stopped plugin process");
    }
    std::this_thread::sleep_for(pause);
  }
}

Store::Sight Store::Look() const {
  if (!file_) return {};
  struct stat there{};
  if (::fstatat(directory_.get(), kFile, &there, AT_SYMLINK_NOFOLLOW) != 0) {
    return {errno == ENOENT ? Change::kMissing : Change::kReplaced, 0};
  }
  if (IdOf(there) != file_id_) return {};
  return {Change::kNone, static_cast<std::uint64_t>(there.st_size)};
}

bool Store::Sees(int directory, const FileId& file, std::uint64_t size) {
  struct stat there{};
  return directory >= 0 && ::fstatat(directory, kFile, &there, AT_SYMLINK_NOFOLLOW) == 0 && IdOf(there) == file &&
         static_cast<std::uint64_t>(there.st_size) == size;
}

Result<void> Store::Open(bool writable) {
  TESSERA_TRY(OpenDirectory());
  const int mode = writable ? O_RDWR | O_CREAT : O_RDONLY;
  UniqueFd fd{::openat(directory_.get(), kFile, mode | kSafely, kPrivate)};
  if (!fd) return std::unexpected(Failure(errno, "opening the journal"));
  if (!IsRegular(fd.get())) return BadConfig("JournalUnwritable", path_.string() + "/journal is not a regular file");
  if (writable) {
    // Also when it was there: whoever made it may have died before its name reached the disk.
    if (::fsync(directory_.get()) != 0) return std::unexpected(Failure(errno, "syncing the directory"));
    ::unlinkat(directory_.get(), kNewFile, 0);
  }
  file_id_ = IdOf(fd.get());
  file_ = std::make_shared<const UniqueFd>(std::move(fd));
  writable_ = writable;
  reserved_until_ = 0;
  return {};
}

Result<std::uint64_t> Store::Size() const {
  struct stat status{};
  if (::fstat(file_->get(), &status) != 0) return std::unexpected(Failure(errno, "looking at the journal"));
  return static_cast<std::uint64_t>(status.st_size);
}

Result<void> Store::Append(std::uint64_t end, std::string_view text) {
  const int error = WriteAt(file_->get(), text, end);
  if (error == 0) return {};
  auto failed = Failure(error, "writing the journal");
  if (auto cut = Truncate(end); !cut.has_value()) return cut;
  return std::unexpected(std::move(failed));
}

Result<void> Store::Truncate(std::uint64_t end) {
  reserved_until_ = 0;  // Space beyond the end goes with it.
  if (::ftruncate(file_->get(), static_cast<off_t>(end)) == 0) return {};
  return std::unexpected(Failure(errno, "cutting the journal"));
}

Result<void> Store::Reserve(std::uint64_t end, std::uint64_t bytes) {
  if (reserved_until_ >= end + bytes) return {};
  const int fd = file_->get();
  for (const std::uint64_t ahead : {bytes * 2, bytes}) {  // Twice as much, so that most calls have nothing to do.
    if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(end), static_cast<off_t>(ahead)) == 0) {
      reserved_until_ = end + ahead;
      return {};
    }
  }
  if (errno != EOPNOTSUPP && errno != ENOSYS) return std::unexpected(Failure(errno, "reserving space"));
  // Some file systems cannot reserve: then the space must at least be there now.
  struct statvfs space{};
  if (::fstatvfs(fd, &space) != 0) return std::unexpected(Failure(errno, "looking for free space"));
  if (std::uint64_t{space.f_bavail} * space.f_frsize < bytes) {
    return std::unexpected(Failure(ENOSPC, "reserving space"));
  }
  return {};
}

Result<void> Store::CopyTo(int target, std::span<const Span> parts, std::uint64_t limit_each) const {
  std::string buffer;
  std::uint64_t put = 0;
  const auto flush = [&]() -> Result<void> {
    if (const int error = WriteAt(target, buffer, put)) return std::unexpected(Failure(error, "copying the journal"));
    put += buffer.size();
    buffer.clear();
    return {};
  };
  for (const Span& part : parts) {
    const auto length = static_cast<std::size_t>(std::min(part.length, limit_each));
    const std::size_t begin = buffer.size();
    buffer.resize(begin + length);
    for (std::size_t got = 0; got < length;) {
      const ssize_t step =
          ::pread(file_->get(), buffer.data() + begin + got, length - got, static_cast<off_t>(part.offset + got));
      if (step < 0 && errno == EINTR) continue;
      if (step <= 0) return std::unexpected(Failure(step < 0 ? errno : EIO, "reading the journal"));
      got += static_cast<std::size_t>(step);
    }
    buffer += '\n';
    if (buffer.size() > kMaxLine) TESSERA_TRY(flush());
  }
  return flush();
}

Result<std::uint64_t> Store::Rewrite(std::span<const Span> lines) {
  const int directory = directory_.get();
  ::unlinkat(directory, kNewFile, 0);
  UniqueFd fd{::openat(directory, kNewFile, O_RDWR | O_CREAT | O_EXCL | kSafely, kPrivate)};
  if (!fd) return std::unexpected(Failure(errno, "making journal.new"));
  auto done = CopyTo(fd.get(), lines, kMaxLine);
  if (done.has_value() && ::fsync(fd.get()) != 0) done = std::unexpected(Failure(errno, "syncing journal.new"));
  if (done.has_value() && ::renameat(directory, kNewFile, directory, kFile) != 0) {
    done = std::unexpected(Failure(errno, "replacing the journal"));
  }
  if (!done.has_value()) {
    ::unlinkat(directory, kNewFile, 0);
    return std::unexpected(std::move(done).error());
  }
  file_ = nullptr;  // Should the last step fail, whoever looks next opens and reads the new one.
  if (::fsync(directory) != 0) return std::unexpected(Failure(errno, "syncing the directory"));
  file_id_ = IdOf(fd.get());
  file_ = std::make_shared<const UniqueFd>(std::move(fd));
  writable_ = true;
  reserved_until_ = 0;
  return Size();
}

Result<std::filesystem::path> Store::Quarantine(std::span<const Span> parts) {
  std::string name = Rfc3339(SystemClock().Now());  // 2026-08-21T09:30:00Z
  std::erase_if(name, [](char c) { return c == '-' || c == ':'; });
  name.insert(0, kQuarantine);
  const UniqueFd fd{::openat(directory_.get(), name.c_str(), O_WRONLY | O_APPEND | O_CREAT | kSafely, kPrivate)};
  if (!fd) return std::unexpected(Failure(errno, "opening " + name));
  TESSERA_TRY(CopyTo(fd.get(), parts, kMaxLine));
  if (::fsync(fd.get()) != 0) return std::unexpected(Failure(errno, "syncing " + name));
  RemoveOldQuarantines();
  return path_ / name;
}

void Store::RemoveOldQuarantines() const {
  const int again = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = again < 0 ? nullptr : ::fdopendir(again);
  if (entries == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries)) {
    if (std::string_view(entry->d_name).starts_with(kQuarantine)) names.emplace_back(entry->d_name);
  }
  ::closedir(entries);
  std::ranges::sort(names, std::greater());  // The time in the name: newest first.
  for (std::size_t i = kQuarantinesKept; i < names.size(); ++i) ::unlinkat(directory_.get(), names[i].c_str(), 0);
}

}  // namespace tessera::journal
