#include "journal/commit_group.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tessera::journal {

CommitGroup::CommitGroup(std::function<int(int fd)> sync) : sync_(std::move(sync)) {}

void CommitGroup::Appended(File file) {
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
  ++latest_;
}

void CommitGroup::Replaced(File file) {
  {
    const std::lock_guard lock(mutex_);
    file_ = std::move(file);
    durable_ = latest_;
    doubtful_ = false;
  }
  round_ended_.notify_all();
}

CommitGroup::Ticket CommitGroup::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

Result<void> CommitGroup::Wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (durable_ >= ticket) return {};
    if (failed_ >= ticket) return std::unexpected(*failure_);
    if (syncing_) {
      round_ended_.wait(lock);
      continue;
    }
    syncing_ = true;
    ++syncs_;
    const Ticket target = latest_;
    const File file = file_;
    lock.unlock();
    const int error = sync_(file->get()) == 0 ? 0 : errno;
    lock.lock();
    syncing_ = false;
    if (error == 0) {
      durable_ = std::max(durable_, target);
    } else {
      failed_ = target;
      failure_ = FromErrno(error, "JournalUnsynced", "writing the journal to the disk").error();
      doubtful_ = file == file_;
    }
    lock.unlock();
    round_ended_.notify_all();
    lock.lock();
  }
}

std::uint64_t CommitGroup::syncs() const {
  const std::lock_guard lock(mutex_);
  return syncs_;
}

bool CommitGroup::is_doubtful() const {
  const std::lock_guard lock(mutex_);
  return doubtful_;
}

}  // namespace tessera::journal
