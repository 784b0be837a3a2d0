#include "journal/leases.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/fnv.h"
#include "base/text.h"
#include "journal/turns.h"

namespace tessera::journal {
namespace {

using namespace std::chrono_literals;
using Deadline = std::chrono::steady_clock::time_point;

constexpr std::string_view kUnusable = "LeaseFileUnusable", kUnwritable = "LeaseFileUnwritable";
constexpr auto kFirstPause = 200us;
constexpr std::chrono::microseconds kLongestPause = 20ms;

// 62 bits of a hash: a file offset must not be negative, and neither must the end of its byte.
off_t PlaceOf(std::string_view name) { return static_cast<off_t>(Fnv1a(name) >> 2); }

struct flock ByteAt(off_t place) {
  struct flock lock{};  // l_pid must be 0 for open-file-description locks.
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

bool IsFullOrReadOnly(int number) { return number == EROFS || number == ENOSPC || number == EDQUOT; }

// True when we have it now, false when somebody else has.
Result<bool> TryByte(int fd, off_t place) {
  struct flock lock = ByteAt(place);
  if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES || errno == EINTR) return false;
  return FromErrno(errno, kUnusable, "locking the lease file");
}

struct OpenFile {
  UniqueFd fd;
  dev_t device;
  ino_t inode;
};

// Where everybody may write, the kernel lets nobody open another's file with O_CREAT (fs.protected_regular).
UniqueFd OpenOrMake(const std::filesystem::path& file, mode_t mode) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  for (int attempt = 0;; ++attempt) {
    if (UniqueFd there{::open(file.c_str(), kFlags)}; there || errno != ENOENT || attempt == 2) return there;
    UniqueFd made{::open(file.c_str(), kFlags | O_CREAT | O_EXCL, mode)};
    if (made) ::fchmod(made.get(), mode);  // Whatever the umask.
    if (made || errno != EEXIST) return made;
  }
}

std::unexpected<Error> TimedOut(const std::string& name) {
  return Transient("LeaseTimeout", Format("somebody else is at work on {}", name));
}

}  // namespace

// The file, and the order among this process's threads: at most one of them asks the kernel for a place.
class Leases::Table {
 public:
  Table(std::filesystem::path file, mode_t mode) : file_(std::move(file)), mode_(mode) {}

  // The file, opened once: the threads of this process keep their order by themselves, so that all of its locks may
  // belong to one description.
  Result<std::shared_ptr<const OpenFile>> File() {
    {
      const std::lock_guard lock(mutex_);
      if (open_) return open_;
    }
    std::error_code ignored;  // Opening says what is wrong.
    std::filesystem::create_directories(file_.parent_path(), ignored);
    UniqueFd fd = OpenOrMake(file_, mode_);
    struct stat status{};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
      return FromErrno(errno, IsFullOrReadOnly(errno) ? kUnwritable : kUnusable, "opening " + file_.string());
    }
    const std::lock_guard lock(mutex_);
    if (!open_) open_ = std::make_shared<const OpenFile>(OpenFile{std::move(fd), status.st_dev, status.st_ino});
    return open_;
  }

  // Whether it is still the file that others will open. If not, the next File() is another.
  bool IsCurrent(const std::shared_ptr<const OpenFile>& file) {
    struct stat there{};
    if (::lstat(file_.c_str(), &there) == 0 && file->device == there.st_dev && file->inode == there.st_ino) return true;
    const std::lock_guard lock(mutex_);
    if (open_ == file) open_ = nullptr;
    return false;
  }

  const std::filesystem::path& file() const { return file_; }
  Turns& turns() { return turns_; }

 private:
  const std::filesystem::path file_;
  const mode_t mode_;
  Turns turns_;
  std::mutex mutex_;  // Guards open_.
  std::shared_ptr<const OpenFile> open_;
};

// Leaves the kernel's locks before the queue, so that the next thread finds them free.
struct Lease::Held {
  explicit Held(std::shared_ptr<Leases::Table> owner) : table(std::move(owner)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    Unlock();
    for (const off_t place : places) table->turns().Leave(place);
  }

  std::shared_ptr<Leases::Table> table;
  std::shared_ptr<const OpenFile> file;
  std::vector<off_t> places;  // Those entered so far.

  // All places of `wanted` in their order, first in this process, then among processes.
  Result<void> Take(const std::map<off_t, std::string>& wanted, Deadline deadline) {
    if (wanted.empty()) return {};
    for (const auto& [place, name] : wanted) {
      if (!table->turns().Enter(place, deadline)) return TimedOut(name);
      places.push_back(place);
    }
    for (;;) {
      auto opened = table->File();
      // Nobody can journal anything there either, so no other process can prepare; and Unprepare must go on.
      if (!opened && opened.error().code() == kUnwritable) return {};
      TESSERA_ASSIGN(file, std::move(opened));
      for (const auto& [place, name] : wanted) TESSERA_TRY(TakeByte(place, name, deadline));
      if (table->IsCurrent(file)) return {};
      Unlock();  // Removed meanwhile: such a lock keeps nobody out.
    }
  }

  void Unlock() {
    for (const off_t place : places) {
      struct flock lock = ByteAt(place);
      lock.l_type = F_UNLCK;
      if (file) ::fcntl(file->fd.get(), F_OFD_SETLK, &lock);
    }
    file = nullptr;
  }

  Result<void> TakeByte(off_t place, const std::string& name, Deadline deadline) const {
    for (std::chrono::microseconds pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
      TESSERA_ASSIGN(const bool taken, TryByte(file->fd.get(), place));
      if (taken) return {};
      const auto now = std::chrono::steady_clock::now();
      if (now >= deadline) return TimedOut(name);
      // The kernel can wait for a lock, but not until a deadline.
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, deadline - now));
    }
  }
};

Lease::Lease(std::unique_ptr<Held> held) : held_(std::move(held)) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&&) noexcept = default;
Lease::~Lease() = default;
int Lease::descriptor() const { return held_->file ? held_->file->fd.get() : -1; }

Leases::Leases(std::filesystem::path file, mode_t mode) : table_(std::make_shared<Table>(std::move(file), mode)) {}
Leases::~Leases() = default;

Result<Lease> Leases::Acquire(std::vector<std::string> names, std::chrono::steady_clock::time_point deadline) {
  std::map<off_t, std::string> wanted;  // In order of place. Names that share one need it once.
  for (auto& name : names) wanted.emplace(PlaceOf(name), std::move(name));
  auto held = std::make_unique<Lease::Held>(table_);
  TESSERA_TRY(held->Take(wanted, deadline));
  return Lease(std::move(held));
}

Result<std::optional<Lease>> Leases::TryAcquire(const std::string& name) {
  auto lease = Acquire({name}, Deadline());
  if (lease.has_value()) return std::optional<Lease>(std::move(*lease));
  if (lease.error().code() == "LeaseTimeout") return std::optional<Lease>();
  return std::unexpected(std::move(lease).error());
}

Result<bool> Leases::IsHeld(const std::string& name) {
  const off_t place = PlaceOf(name);
  if (table_->turns().Count(place) > 0) return true;
  const UniqueFd fd{::open(table_->file().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!fd && errno == ENOENT) return false;
  const std::string doing = "looking at " + table_->file().string();
  if (!fd) return FromErrno(errno, kUnusable, doing);
  struct flock lock = ByteAt(place);
  if (::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0) return FromErrno(errno, kUnusable, doing);
  return lock.l_type != F_UNLCK;
}

}  // namespace tessera::journal
