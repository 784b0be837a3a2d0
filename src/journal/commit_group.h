// journal/commit_group.h: lets those who wait for the disk at the same time share one fdatasync.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/fd.h"

namespace tessera::journal {

// Whoever waits first syncs for all that was appended until then; who comes meanwhile waits for the next round.
// Safe to call from any thread.
class CommitGroup {
 public:
  using File = std::shared_ptr<const UniqueFd>;
  using Ticket = std::uint64_t;

  explicit CommitGroup(std::function<int(int fd)> sync);  // fdatasync(2), or a test's.

  // Something was appended to `file`.
  void Appended(File file);
  // Everything appended so far is durable in `file`, which replaces the one before.
  void Replaced(File file);

  Ticket latest() const;
  // Until everything up to `ticket` is durable.
  Result<void> Wait(Ticket ticket);

  std::uint64_t syncs() const;
  // Whether a sync failed: the kernel may have dropped pages while calling them clean, so that the file must be
  // written anew before a sync of it means anything.
  bool is_doubtful() const;

 private:
  const std::function<int(int)> sync_;

  mutable std::mutex mutex_;  // Guards everything below. Not held during a sync.
  std::condition_variable round_ended_;
  File file_;
  Ticket latest_ = 0, durable_ = 0, failed_ = 0;
  std::optional<Error> failure_;
  bool syncing_ = false, doubtful_ = false;
  std::uint64_t syncs_ = 0;
};

}  // namespace tessera::journal
