#include "journal/contents.h"

#include <algorithm>

namespace tessera::journal {

bool Contents::Apply(Line line, Span where) {
  ++records_;
  switch (line.op) {
    case Op::kStart:
      Start(std::move(line), where);
      return true;
    case Op::kComplete:
      return Complete(line.claim.uid, where);
    case Op::kForget:
      Forget(line.claim.uid);
      return true;
    case Op::kForeign:
      foreign_.emplace(line.claim.uid, where);
      Count(where);
      return true;
  }
  std::unreachable();
}

void Contents::Start(Line line, Span where) {
  const std::string uid = line.claim.uid;
  Drop(uid);
  for (const auto& device : line.start->devices) {
    if (!device.admin_access) uids_by_gpu_[device.hardware.gpu_uuid].insert(uid);
  }
  entries_.emplace(uid, Entry{std::move(line.start), line.crc, where, std::nullopt, std::move(line.extras)});
  Count(where);
}

bool Contents::Complete(const std::string& uid, Span where) {
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  if (entry.complete) Discount(*entry.complete);
  entry.complete = where;
  Count(where);
  if (entry.claim->state != api::ClaimState::kCompleted) {
    api::PreparedClaim completed = *entry.claim;
    completed.state = api::ClaimState::kCompleted;
    entry.claim = std::make_shared<const api::PreparedClaim>(std::move(completed));
  }
  return true;
}

// Ends all that was said of the claim before, by newer versions too.
void Contents::Forget(const std::string& uid) {
  Drop(uid);
  const auto [first, last] = foreign_.equal_range(uid);
  for (auto it = first; it != last; ++it) Discount(it->second);
  foreign_.erase(first, last);
}

void Contents::Drop(const std::string& uid) {
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return;
  const Entry& entry = found->second;
  for (const auto& device : entry.claim->devices) {
    const auto holders = uids_by_gpu_.find(device.hardware.gpu_uuid);
    if (holders == uids_by_gpu_.end()) continue;
    holders->second.erase(uid);
    if (holders->second.empty()) uids_by_gpu_.erase(holders);
  }
  Discount(entry.start);
  if (entry.complete) Discount(*entry.complete);
  entries_.erase(found);
}

ClaimPtr Contents::Find(const std::string& uid) const {
  const auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : found->second.claim;
}

std::vector<ClaimPtr> Contents::HoldersOf(const std::string& gpu_uuid) const {
  std::vector<ClaimPtr> claims;
  const auto holders = uids_by_gpu_.find(gpu_uuid);
  if (holders == uids_by_gpu_.end()) return claims;
  claims.reserve(holders->second.size());
  for (const auto& uid : holders->second) claims.push_back(entries_.at(uid).claim);
  return claims;
}

std::vector<ClaimPtr> Contents::All() const {
  std::vector<ClaimPtr> claims;
  claims.reserve(entries_.size());
  for (const auto& [uid, entry] : entries_) claims.push_back(entry.claim);
  return claims;
}

json::Object Contents::ExtrasOf(const std::string& uid) const {
  const auto found = entries_.find(uid);
  return found == entries_.end() ? json::Object() : found->second.extras;
}

std::optional<std::uint32_t> Contents::CrcOf(const std::string& uid) const {
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return std::nullopt;
  return found->second.crc;
}

std::vector<const Span*> Contents::Needed() const {
  std::vector<const Span*> spans;
  spans.reserve(entries_.size() * 2 + foreign_.size());
  for (const auto& [uid, entry] : entries_) {
    spans.push_back(&entry.start);
    if (entry.complete) spans.push_back(&*entry.complete);
  }
  for (const auto& [uid, span] : foreign_) spans.push_back(&span);
  std::ranges::sort(spans, {}, &Span::offset);
  return spans;
}

std::vector<Span> Contents::Live() const {
  std::vector<Span> live;
  for (const Span* span : Needed()) live.push_back(*span);
  return live;
}

void Contents::Rebase() {
  std::uint64_t end = 0;
  records_ = 0;
  for (const Span* span : Needed()) {
    const_cast<Span*>(span)->offset = end;  // Ours, and *this is not const.
    end += span->length + 1;
    ++records_;
  }
}

}  // namespace tessera::journal
