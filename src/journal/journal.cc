#include "journal/journal.h"

#include "base/fd.h"
#include "base/text.h"
#include "journal/journal_impl.h"

namespace tessera::journal {

Journal::Journal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Journal::~Journal() = default;

std::unique_ptr<Journal> Journal::Open(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  impl->Open();
  return std::unique_ptr<Journal>(new Journal(std::move(impl)));  // The constructor is private.
}

Result<void> Journal::Refresh() { return impl_->Refresh(); }
ClaimPtr Journal::Find(const std::string& uid) const { return impl_->Find(uid); }
std::vector<ClaimPtr> Journal::HoldersOf(const std::string& gpu_uuid) const { return impl_->HoldersOf(gpu_uuid); }
std::vector<ClaimPtr> Journal::All() const { return impl_->All(); }

Result<void> Journal::Start(const api::PreparedClaim& claim) {
  TESSERA_ASSIGN(const Ticket ticket, BeginStart(claim));
  return EndStart(ticket);
}
Result<Journal::Ticket> Journal::BeginStart(const api::PreparedClaim& claim) { return impl_->BeginStart(claim); }
Result<void> Journal::EndStart(Ticket ticket) { return impl_->EndStart(ticket); }

Result<void> Journal::Complete(const std::string& uid) { return impl_->Complete(uid); }
Result<void> Journal::Forget(const std::string& uid) { return impl_->Forget(uid); }
std::optional<Recovery> Journal::TakeRecovery() { return impl_->TakeRecovery(); }
Stats Journal::stats() const { return impl_->stats(); }
Result<void> Journal::Compact() { return impl_->Compact(); }

std::string BootId(const std::filesystem::path& procfs) {
  const auto text = ReadFile(procfs / "sys/kernel/random/boot_id", 256);
  return text.has_value() ? std::string(Trim(*text)) : std::string();
}

}  // namespace tessera::journal
