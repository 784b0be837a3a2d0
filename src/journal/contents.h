// journal/contents.h: what the lines of a journal say together, and which of them are still needed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "journal/journal.h"
#include "journal/line.h"

namespace tessera::journal {

// A line in the file, without its newline.
struct Span {
  std::uint64_t offset = 0, length = 0;
  bool operator==(const Span&) const = default;
};

// The cost of one operation does not grow with the number of claims beyond a tree's depth. Not thread-safe.
class Contents {
 public:
  // Applies the line that stands at `where`. False when it speaks of a claim that is not there, as a "complete" whose
  // "start" was lost does.
  bool Apply(Line line, Span where);

  ClaimPtr Find(const std::string& uid) const;
  std::vector<ClaimPtr> HoldersOf(const std::string& gpu_uuid) const;
  std::vector<ClaimPtr> All() const;

  // Whether any line, a newer version's included, speaks of the claim.
  bool Knows(const std::string& uid) const { return entries_.contains(uid) || foreign_.contains(uid); }
  json::Object ExtrasOf(const std::string& uid) const;               // Fields of newer versions in its "start".
  std::optional<std::uint32_t> CrcOf(const std::string& uid) const;  // Of its "start": tells one from the next.
  void Forget(const std::string& uid);                               // As a "forget" line does.

  std::vector<Span> Live() const;                           // The lines still needed, in their order.
  void Rebase();                                            // A new file holds just these, one after the other.
  std::uint64_t live_bytes() const { return live_bytes_; }  // Of these, with newlines.
  std::uint64_t records() const { return records_; }        // Lines applied.
  std::uint64_t claims() const { return entries_.size(); }

 private:
  struct Entry {
    ClaimPtr claim;
    std::uint32_t crc = 0;
    Span start;
    std::optional<Span> complete;
    json::Object extras;
  };
  void Start(Line line, Span where);
  bool Complete(const std::string& uid, Span where);
  void Drop(const std::string& uid);
  std::vector<const Span*> Needed() const;
  void Count(Span span) { live_bytes_ += span.length + 1; }
  void Discount(Span span) { live_bytes_ -= span.length + 1; }

  std::map<std::string, Entry> entries_;  // By UID.
  std::unordered_map<std::string, std::set<std::string>> uids_by_gpu_;
  std::multimap<std::string, Span> foreign_;  // By UID; under "" what names no claim.
  std::uint64_t live_bytes_ = 0, records_ = 0;
};

}  // namespace tessera::journal
