// journal/journal.h: the claims prepared on this node, on disk. Start here.
//
// One file, append-only, one record a line:
//
//   {"crc":"1f3a09bc","v":1,"op":"start","claim":{…},"state":"started","bootID":…,"devices":[…],…}
//   {"crc":"77e01d42","v":1,"op":"complete","claim":{"namespace":…,"name":…,"uid":…}}
//   {"crc":"0be1c7a9","v":1,"op":"forget","claim":{…}}
//
// The checksum (CRC-32C) covers the raw bytes that follow it up to the end of the line, so that no reader has to
// print what it read to believe it. Fields and operations of newer versions are kept through compaction.
//
// More than one process writes it (two plugins during a rolling update, `tessera run`): an append takes a short file
// lock and first reads what others appended. Safe to call from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/prepared_claim.h"
#include "base/error.h"

namespace tessera::journal {

using ClaimPtr = std::shared_ptr<const api::PreparedClaim>;

struct Options {
  std::filesystem::path directory;                        // The plugin's own. Made if it is missing.
  std::uint64_t compact_from = std::uint64_t{256} << 10;  // Bytes; then when most of the file is garbage.
  std::uint64_t reserve = std::uint64_t{128}
                          << 10;  // Bytes kept allocated ahead, so that a full disk still takes "forget".
};

// What loading had to repair.
struct Recovery {
  std::size_t torn_bytes = 0;           // Cut from the end: a write that a crash or a power loss interrupted.
  std::size_t damaged_lines = 0;        // In the middle: moved to the quarantine file, the rest kept.
  std::filesystem::path quarantine;     // Where they are. Empty when there are none.
  std::vector<api::ClaimRef> suspects;  // Claims that damaged lines seem to speak of, as far as they can be read.
  bool operator==(const Recovery&) const = default;
};

struct Stats {
  std::uint64_t bytes = 0, records = 0, claims = 0;       // Of the file now.
  std::uint64_t syncs = 0, appends = 0, compactions = 0;  // By this process.
  std::uint64_t recoveries = 0;                           // Loads that had to repair something.
  std::uint64_t write_failures = 0;
};

class Journal {
 public:
  // Reads what is there. Damage never fails it, and neither does a directory that cannot be written (each write then
  // fails by itself, while what could be read is served).
  static std::unique_ptr<Journal> Open(Options options);
  ~Journal();

  // Reads what other processes appended since the last look. Cheap when there is nothing.
  Result<void> Refresh();

  // As of the last Refresh() or write.
  ClaimPtr Find(const std::string& uid) const;  // Null when it is not there.
  // Claims that use this GPU or a MIG device of it. Admin access is no use.
  std::vector<ClaimPtr> HoldersOf(const std::string& gpu_uuid) const;
  std::vector<ClaimPtr> All() const;  // By UID.

  // Records the intent, or replaces the claim's record whole. Durable on return. Refused with "DiskFull" while there
  // is no more room than unpreparing needs.
  Result<void> Start(const api::PreparedClaim& claim);
  // The same in two steps, for who has something to do while the disk works: after the first it is written, and every
  // process sees it; after the second it is durable.
  using Ticket = std::uint64_t;
  Result<Ticket> BeginStart(const api::PreparedClaim& claim);
  Result<void> EndStart(Ticket ticket);
  // Notes completion. Reaches the disk some time: recovery can prove completion by itself.
  Result<void> Complete(const std::string& uid);
  // The claim is no longer here. Durable on return; succeeds when it was not. When it cannot be written it is
  // forgotten all the same in this process, retried at the next write, and the error returned.
  Result<void> Forget(const std::string& uid);

  // What Open() and later reloads repaired since the last call; nothing is reported twice.
  std::optional<Recovery> TakeRecovery();
  Stats stats() const;

  // Rewrites the file with only what is live. Done by itself when it pays; public for tests and `tessera doctor`.
  Result<void> Compact();

 private:
  class Impl;
  explicit Journal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The kernel's name for this boot, below `procfs`. Empty when it cannot be read.
std::string BootId(const std::filesystem::path& procfs = "/proc");

}  // namespace tessera::journal
