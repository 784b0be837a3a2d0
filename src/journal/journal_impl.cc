#include "journal/journal_impl.h"

#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "base/brief_lock.h"
#include "base/log.h"
#include "base/text.h"

namespace tessera::journal {
namespace {

// Thousands of claims take a few megabytes; what is longer is not ours.
constexpr std::uint64_t kMaxFile = std::uint64_t{64} << 20;
// Where new claims end, so that unpreparing has room.
constexpr std::uint64_t kMaxStarted = kMaxFile / 2;

}  // namespace

Journal::Impl::Impl(Options options) : options_(std::move(options)), group_(::fdatasync), store_(options_.directory) {}

void Journal::Impl::Open() {
  if (auto opened = Refresh(); !opened.has_value()) {
    log::Failure(opened.error(), "Journal cannot be used yet; each write tries again");
  }
}

// Each Prepare asks twice, and others are at work on the file: so that nobody waits for them when there is no news.
bool Journal::Impl::IsUpToDate() const {
  Known known;
  {
    const std::shared_lock reading(state_mutex_);
    known = known_;
  }
  return Store::Sees(known.directory, known.file, known.end);
}

Result<void> Journal::Impl::Refresh() {
  if (IsUpToDate()) return {};
  const std::lock_guard working(file_mutex_);
  const Store::Sight sight = store_.Look();
  if (sight.change == Store::Change::kNone && store_.is_writable() && sight.size == end_) return {};
  const auto lock = LockAndCatchUp();
  if (lock.has_value()) return {};
  if (CatchUp(false).has_value()) return {};
  return std::unexpected(lock.error());
}

ClaimPtr Journal::Impl::Find(const std::string& uid) const {
  const std::shared_lock reading(state_mutex_);
  return contents_.Find(uid);
}

std::vector<ClaimPtr> Journal::Impl::HoldersOf(const std::string& gpu_uuid) const {
  const std::shared_lock reading(state_mutex_);
  return contents_.HoldersOf(gpu_uuid);
}

std::vector<ClaimPtr> Journal::Impl::All() const {
  const std::shared_lock reading(state_mutex_);
  return contents_.All();
}

std::optional<Recovery> Journal::Impl::TakeRecovery() {
  const std::lock_guard changing(state_mutex_);
  return std::exchange(recovery_, std::nullopt);
}

Stats Journal::Impl::stats() const {
  const std::shared_lock reading(state_mutex_);
  Stats stats = counters_;
  stats.bytes = end_;
  stats.records = contents_.records();
  stats.claims = contents_.claims();
  stats.syncs = group_.syncs();
  return stats;
}

// ---- Writing.

Result<Journal::Ticket> Journal::Impl::BeginStart(const api::PreparedClaim& claim) {
  const std::string& uid = claim.claim.uid;
  json::Object extras;
  {
    const std::shared_lock reading(state_mutex_);
    extras = contents_.ExtrasOf(uid);
  }
  TESSERA_ASSIGN(Sealed sealed, StartLine(claim, extras));
  const auto working = LockBriefly(file_mutex_);
  TESSERA_ASSIGN(const Store::Lock lock, Counted(LockAndCatchUp()));
  if (contents_.ExtrasOf(uid) != extras) {  // Another process has written it meanwhile.
    TESSERA_ASSIGN(sealed, StartLine(claim, contents_.ExtrasOf(uid)));
  }
  TESSERA_TRY(Counted(Write(std::move(sealed), true)));
  return group_.latest();
}

Result<void> Journal::Impl::Complete(const std::string& uid) {
  const auto working = LockBriefly(file_mutex_);
  TESSERA_ASSIGN(const Store::Lock lock, Counted(LockAndCatchUp()));
  const ClaimPtr claim = contents_.Find(uid);
  if (claim == nullptr) return Transient("ClaimNotStarted", "claim " + uid + " has no record to complete");
  if (claim->state == api::ClaimState::kCompleted) return {};
  return Counted(Write(CompleteLine(claim->claim), false));
}

Result<void> Journal::Impl::Forget(const std::string& uid) {
  CommitGroup::Ticket ticket = 0;
  {
    const auto working = LockBriefly(file_mutex_);
    if (auto written = WriteForget(uid); !written.has_value()) {
      ForgetUnwritten(uid);
      return Counted(std::move(written));
    }
    ticket = group_.latest();  // Also when there was nothing to write: another's "forget" may not be durable yet.
  }
  return Counted(group_.Wait(ticket));
}

Result<void> Journal::Impl::WriteForget(const std::string& uid) {
  const auto lock = LockAndCatchUp();
  if (!lock.has_value()) TESSERA_TRY(CatchUp(false));
  if (!contents_.Knows(uid) && !unwritten_.contains(uid)) return {};
  if (!lock.has_value()) return std::unexpected(lock.error());
  const ClaimPtr claim = contents_.Find(uid);
  TESSERA_TRY(Write(ForgetLine(claim != nullptr ? claim->claim : api::ClaimRef{"", "", uid}), false));
  CompactIfItPays();
  return {};
}

void Journal::Impl::ForgetUnwritten(const std::string& uid) {
  const ClaimPtr claim = contents_.Find(uid);
  if (claim == nullptr) return;
  unwritten_[uid] = {claim->claim, contents_.CrcOf(uid).value_or(0)};
  const std::lock_guard changing(state_mutex_);
  contents_.Forget(uid);
}

Result<void> Journal::Impl::Write(Sealed sealed, bool keep_reserve) {
  std::vector<Sealed> batch;
  for (const auto& [uid, forgotten] : unwritten_) batch.push_back(ForgetLine(forgotten.claim));
  batch.push_back(std::move(sealed));
  std::string text;
  for (const auto& item : batch) text += item.text;

  if (keep_reserve) TESSERA_TRY(MakeRoom(text.size()));
  TESSERA_TRY(store_.Append(end_, text));
  unwritten_.clear();
  for (auto& item : batch) Apply(std::move(item.line), {end_, item.text.size() - 1});
  group_.Appended(store_.file());

  return group_.is_doubtful() ? Rewrite() : Result<void>();
}

Result<void> Journal::Impl::MakeRoom(std::size_t bytes) {
  if (end_ + bytes > kMaxStarted) TESSERA_TRY(Rewrite());
  if (end_ + bytes > kMaxStarted) {
    return Transient("JournalFull", Format("the journal holds {} claims in {} bytes", contents_.claims(), end_),
                     "look for claims that are never unprepared");
  }
  return store_.Reserve(end_, bytes + options_.reserve);
}

void Journal::Impl::SetEnd(std::uint64_t end) {
  end_ = end;
  known_ = store_.is_writable() ? Known{store_.directory(), store_.file_id(), end} : Known();
}

void Journal::Impl::Apply(Line line, Span where) {
  const std::lock_guard changing(state_mutex_);
  contents_.Apply(std::move(line), where);
  SetEnd(where.offset + where.length + 1);
  ++counters_.appends;
}

// ---- Compacting.

Result<void> Journal::Impl::Compact() {
  const std::lock_guard working(file_mutex_);
  TESSERA_ASSIGN(const Store::Lock lock, LockAndCatchUp());
  return Counted(Rewrite());
}

// At least half of what is written is dead, so each byte ever appended is copied once at most, on average. Only
// forgetting makes much garbage, and no pod waits for it.
void Journal::Impl::CompactIfItPays() {
  const bool pays = end_ > options_.compact_from && end_ > 2 * contents_.live_bytes() && end_ >= rewrite_not_before_;
  if (!pays) return;
  if (auto rewritten = Rewrite(); !rewritten.has_value()) {
    log::Failure(rewritten.error(), "Journal not compacted");
    rewrite_not_before_ = end_ + options_.compact_from;
  }
}

Result<void> Journal::Impl::Rewrite() {
  if (!damaged_.empty()) {
    TESSERA_ASSIGN(auto quarantine, store_.Quarantine(damaged_));
    damaged_.clear();
    const std::lock_guard changing(state_mutex_);
    if (recovery_) recovery_->quarantine = std::move(quarantine);
  }
  const auto live = contents_.Live();
  TESSERA_ASSIGN(const std::uint64_t size, store_.Rewrite(live));
  {
    const std::lock_guard changing(state_mutex_);
    contents_.Rebase();
    SetEnd(size);
    ++counters_.compactions;
  }
  unwritten_.clear();  // What is not in contents_ is not in the new file.
  rewrite_not_before_ = 0;
  group_.Replaced(store_.file());
  KeepReserve();
  return {};
}

void Journal::Impl::KeepReserve() {
  std::ignore = store_.Reserve(end_, options_.reserve);  // Start() tries again, and says when there is no room.
}

// ---- Reading.

Result<Store::Lock> Journal::Impl::LockAndCatchUp() {
  TESSERA_ASSIGN(Store::Lock lock, store_.Acquire());
  TESSERA_TRY(CatchUp(true));
  return lock;
}

Result<void> Journal::Impl::CatchUp(bool locked) {
  Store::Sight sight = store_.Look();
  if (sight.change == Store::Change::kMissing) {
    // Somebody removed it. What it held is still in the open file, and the claims are still on the node.
    return locked ? Rewrite() : Result<void>();
  }
  bool is_fresh = false;
  if (sight.change == Store::Change::kReplaced || (locked && !store_.is_writable())) {
    TESSERA_TRY(store_.Open(locked));
    TESSERA_ASSIGN(sight.size, store_.Size());
    is_fresh = true;
  }
  if (sight.size < end_) is_fresh = true;
  if (!is_fresh && sight.size == end_) return {};
  return ReadNew(is_fresh, sight.size, locked);
}

Result<void> Journal::Impl::ReadNew(bool is_fresh, std::uint64_t size, bool locked) {
  Load load;
  load.is_fresh = is_fresh;
  load.end = is_fresh ? 0 : end_;
  const std::uint64_t to = std::min(size, load.end + kMaxFile);
  const auto take = [&](const RawLine& raw) { TakeRaw(load, raw); };
  if (auto read = ForEachLine(store_.file()->get(), load.end, to, take); !read.has_value()) {
    store_.Close();  // Half of it is in contents_: read all again.
    const std::lock_guard changing(state_mutex_);
    known_ = {};
    return read;
  }
  if (size > to) {
    load.damaged.push_back({load.end, size - load.end});
    load.end = size;
    load.tail.clear();
  }
  std::size_t torn_bytes = 0;
  if (!load.tail.empty() && locked) {
    const std::uint64_t before = load.end;
    TESSERA_TRY(MendTail(load));
    if (load.end == before) torn_bytes = static_cast<std::size_t>(size - before);
  }
  const std::vector<Span> known = is_fresh ? std::exchange(damaged_, {}) : std::vector<Span>();
  damaged_.insert(damaged_.end(), load.damaged.begin(), load.damaged.end());
  {
    const std::lock_guard changing(state_mutex_);
    if (is_fresh) contents_ = std::move(load.contents);
    SetEnd(load.end);
  }
  group_.Appended(store_.file());
  // The same damage is read again when a file that could only be read becomes writable.
  const bool is_new = load.damaged != known;
  if (torn_bytes > 0 || (is_new && !load.damaged.empty())) Report(load, torn_bytes);
  if (!locked) return {};
  if (damaged_.empty()) {
    KeepReserve();
  } else if (auto mended = Rewrite(); !mended.has_value()) {
    log::Failure(mended.error(), "Damage stays in the journal");
  }
  return {};
}

void Journal::Impl::TakeRaw(Load& load, const RawLine& raw) {
  if (!raw.has_newline) {
    load.tail = raw.text;
    return;
  }
  load.end = raw.where.offset + raw.where.length + 1;
  if (raw.where.length <= kMaxLine) {
    if (auto line = ParseLine(raw.text)) return TakeLine(load, std::move(*line), raw.where);
  }
  load.damaged.push_back(raw.where);
  for (Piece& piece : Salvage(raw.text)) {
    if (piece.line) {
      TakeLine(load, std::move(*piece.line), {raw.where.offset + piece.offset, piece.length});
    } else if (auto suspect = SuspectOf(raw.text.substr(piece.offset, piece.length))) {
      load.suspects[suspect->uid] = std::move(*suspect);
    }
  }
}

void Journal::Impl::TakeLine(Load& load, Line line, Span where) {
  const Op op = line.op;
  const api::ClaimRef claim = line.claim;
  const std::uint32_t crc = line.crc;
  Contents& contents = load.is_fresh ? load.contents : contents_;
  std::unique_lock changing(state_mutex_, std::defer_lock);
  if (!load.is_fresh) changing.lock();

  const bool had_subject = contents.Apply(std::move(line), where);
  if (op == Op::kStart || op == Op::kForget) load.suspects.erase(claim.uid);
  if (!had_subject && !load.damaged.empty()) load.suspects[claim.uid] = claim;

  const auto unwritten = unwritten_.find(claim.uid);
  if (unwritten == unwritten_.end()) return;
  if (op == Op::kStart && crc == unwritten->second.start_crc) {
    contents.Forget(claim.uid);
  } else if (op == Op::kStart || op == Op::kForget) {
    unwritten_.erase(unwritten);
  }
}

// The last line has no newline. Either a write was interrupted, which nobody was told has succeeded, or only the
// newline is missing.
Result<void> Journal::Impl::MendTail(Load& load) {
  auto line = ParseLine(load.tail);
  if (!line) return store_.Truncate(load.end);
  const Span where{load.end, load.tail.size()};
  TESSERA_TRY(store_.Append(where.offset + where.length, "\n"));
  TakeLine(load, std::move(*line), where);
  load.end = where.offset + where.length + 1;
  return {};
}

void Journal::Impl::Report(Load& load, std::size_t torn_bytes) {
  const std::lock_guard changing(state_mutex_);
  ++counters_.recoveries;
  if (!recovery_) recovery_.emplace();
  recovery_->torn_bytes += torn_bytes;
  recovery_->damaged_lines += load.damaged.size();
  for (auto& [uid, suspect] : load.suspects) recovery_->suspects.push_back(std::move(suspect));
}

}  // namespace tessera::journal
