// journal/journal_impl.h: the journal's parts put together.
//
// Two mutexes, so that reading never waits for a disk: one is held by whoever works on the file, the other for the
// moments in which what is in memory changes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "journal/commit_group.h"
#include "journal/contents.h"
#include "journal/journal.h"
#include "journal/line.h"
#include "journal/scan.h"
#include "journal/store.h"

namespace tessera::journal {

class Journal::Impl {
 public:
  explicit Impl(Options options);

  void Open();
  Result<void> Refresh();
  ClaimPtr Find(const std::string& uid) const;
  std::vector<ClaimPtr> HoldersOf(const std::string& gpu_uuid) const;
  std::vector<ClaimPtr> All() const;
  Result<Ticket> BeginStart(const api::PreparedClaim& claim);
  Result<void> EndStart(Ticket ticket) { return Counted(group_.Wait(ticket)); }
  Result<void> Complete(const std::string& uid);
  Result<void> Forget(const std::string& uid);
  std::optional<Recovery> TakeRecovery();
  Stats stats() const;
  Result<void> Compact();

 private:
  // A claim forgotten in memory while the disk did not take it, and the checksum of the "start" that is meant.
  struct Unwritten {
    api::ClaimRef claim;
    std::uint32_t start_crc = 0;
  };
  // The file that contents_ was read from, up to where. Without one, nothing is known for sure.
  struct Known {
    int directory = -1;
    FileId file;
    std::uint64_t end = 0;
  };
  // One pass over new lines.
  struct Load {
    bool is_fresh = false;  // Into `contents` instead of contents_.
    Contents contents;
    std::uint64_t end = 0;  // Behind the last whole line.
    std::string tail;       // What stands behind it.
    std::vector<Span> damaged;
    std::map<std::string, api::ClaimRef> suspects;
  };

  bool IsUpToDate() const;

  // All below need file_mutex_. `locked`: other processes are kept out too.
  Result<Store::Lock> LockAndCatchUp();
  Result<void> CatchUp(bool locked);
  Result<void> ReadNew(bool is_fresh, std::uint64_t size, bool locked);
  void TakeRaw(Load& load, const RawLine& raw);
  void TakeLine(Load& load, Line line, Span where);
  Result<void> MendTail(Load& load);
  void Report(Load& load, std::size_t torn_bytes);
  Result<void> Write(Sealed sealed, bool keep_reserve);
  Result<void> MakeRoom(std::size_t bytes);
  void KeepReserve();
  void Apply(Line line, Span where);
  void SetEnd(std::uint64_t end);  // With state_mutex_ held.
  Result<void> Rewrite();
  void CompactIfItPays();
  Result<void> WriteForget(const std::string& uid);
  void ForgetUnwritten(const std::string& uid);

  // `result`, and a failure counted.
  template <class T>
  Result<T> Counted(Result<T> result) {
    if (!result.has_value()) {
      const std::lock_guard changing(state_mutex_);
      ++counters_.write_failures;
    }
    return result;
  }

  const Options options_;
  CommitGroup group_;

  mutable std::mutex file_mutex_;  // Guards these, and that nobody else changes contents_.
  Store store_;
  std::map<std::string, Unwritten> unwritten_;
  std::vector<Span> damaged_;             // In the file still, because it could not be rewritten.
  std::uint64_t rewrite_not_before_ = 0;  // Bytes; after a failure.

  mutable std::shared_mutex state_mutex_;  // Guards these. Never held during input or output.
  Contents contents_;
  std::uint64_t end_ = 0;  // What of the file is in contents_.
  Known known_;
  std::optional<Recovery> recovery_;
  Stats counters_;
};

}  // namespace tessera::journal
