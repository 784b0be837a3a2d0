#include "driver/takeover.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/fnv.h"
#include "base/log.h"
#include "base/text.h"
#include "journal/checkpoint.h"
#include "kubelet/neighbours.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kAskTimeout{1'000};
constexpr std::string_view kCheckpoint = "checkpoint.json";
constexpr std::string_view kOurs = "checkpoint.tessera";

// Whether this very process listens on the socket.
bool IsOurOwn(const fs::path& socket) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (socket.native().size() >= sizeof address.sun_path) return false;
  std::ranges::copy(socket.native(), address.sun_path);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return false;
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == ::getpid();
}

Result<UniqueFd> OpenLock(const fs::path& directory, const char* name) {
  UniqueFd fd(::open((directory / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return FromErrno(errno, "LockFailed", Format("opening {}", (directory / name).string()));
  return fd;
}

// The Go driver reads and writes its checkpoint under this lock, with flock(2) and a timeout of 10 s.
Result<UniqueFd> LockCheckpoint(const fs::path& directory) {
  TESSERA_ASSIGN(UniqueFd fd, OpenLock(directory, "cp.lock"));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return Transient("LockFailed", "somebody else is writing checkpoint.json", "it is tried again");
  }
  return fd;
}

std::string FingerprintOf(std::string_view text) { return Format("{:016x}-{}", Fnv1a(text), text.size()); }

// What checkpoint.tessera holds, a line each.
struct Ours {
  // Of the checkpoints we wrote: the last two, because a crash may come between this file and the next.
  std::vector<std::string> fingerprints;
  // "for v0.4": the Go driver that was here, and that will not read another's form.
  journal::GoRelease release = journal::GoRelease::kHead;
  // "on demand gpu-0-mig-…": of claims that we refused. The kubelet removes the slices that said so half a minute after
  // the Go driver's end.
  std::set<std::string> mig_on_demand;

  bool Wrote(std::string_view checkpoint) const {
    return std::ranges::find(fingerprints, FingerprintOf(checkpoint)) != fingerprints.end();
  }
};
constexpr std::string_view kFor = "for ";
constexpr std::string_view kOnDemand = "on demand ";
constexpr std::size_t kOursLimit = 65'536;

Ours ReadOurs(const fs::path& directory) {
  Ours ours;
  const auto text = ReadFile(directory / kOurs, kOursLimit);
  if (!text) return ours;
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.starts_with(kFor)) {
      FromText(line.substr(kFor.size()), ours.release);
    } else if (line.starts_with(kOnDemand)) {
      ours.mig_on_demand.emplace(line.substr(kOnDemand.size()));
    } else if (!line.empty()) {
      ours.fingerprints.emplace_back(line);
    }
  }
  return ours;
}

Result<void> WriteOurs(const fs::path& directory, const Ours& ours) {
  std::string text = Format("{}{}\n", kFor, ToText(ours.release));
  for (const std::string& device : ours.mig_on_demand) text += Format("{}{}\n", kOnDemand, device);
  for (const std::string& fingerprint : ours.fingerprints) text += fingerprint + "\n";
  return ReplaceFileDurably(directory / kOurs, text, 0600);
}

// Adds claims with such devices to those that are not served.
Result<void> RefuseMigOnDemand(const fs::path& directory, Ours ours, journal::Checkpoint& checkpoint,
                               const std::function<Result<MigOnDemand>()>& ask) {
  std::multimap<std::string, api::ClaimRef> holders;  // By MIG device.
  for (const api::PreparedClaim& claim : checkpoint.claims) {
    for (const api::PreparedDevice& device : claim.devices) {
      if (device.hardware.mig) holders.emplace(device.name, claim.claim);
    }
  }
  if (holders.empty()) return {};
  TESSERA_ASSIGN(const MigOnDemand offered, ask());
  if (offered) {
    const auto is_held = [&](const std::string& device) { return holders.contains(device); };
    std::set<std::string> held;
    std::ranges::copy_if(*offered, std::inserter(held, held.end()), is_held);
    if (std::exchange(ours.mig_on_demand, held) != held) TESSERA_TRY(WriteOurs(directory, ours));
  }
  for (const auto& [device, claim] : holders) {
    if (!ours.mig_on_demand.contains(device)) continue;
    checkpoint.unserved.push_back({claim, Format("MIG device {}, made on demand", Quote(device))});
  }
  return {};
}

Error Unserved(const std::vector<journal::Unserved>& unserved) {
  std::vector<std::string> texts;
  for (const journal::Unserved& claim : unserved) {
    const std::string name = claim.claim.name.empty() ? "UID " + claim.claim.uid : api::ToText(claim.claim);
    texts.push_back(Format("{} ({})", name, claim.what));
  }
  return {ErrorKind::kPermanentConfig, "UnservedClaims",
          Format("claims that the Go driver prepared use what this version cannot undo: {}", Join(texts, ", ")),
          "delete their pods while the Go driver runs, or go back to it"};
}

}  // namespace

std::string InstanceLease(const fs::path& registration_socket) {
  return "instance/" + registration_socket.filename().string();
}

std::optional<OtherDriver> FindOtherDriver(const fs::path& registry, std::string_view driver_name, const fs::path& own,
                                           journal::Leases& leases) {
  std::error_code error;
  for (fs::directory_iterator at(registry, error), end; !error && at != end; at.increment(error)) {
    const fs::path& socket = at->path();
    const std::string name = socket.filename().string();
    if (!name.starts_with(driver_name) || !at->is_socket(error)) continue;
    // One of ours has sockets of its own. Where it has our socket's name it is in the way all the same.
    const bool same_name = socket.filename() == own.filename();
    if (same_name ? IsOurOwn(socket) : leases.IsHeld(InstanceLease(socket)).value_or(false)) continue;
    const auto info = kubelet::AskPlugin(socket, kAskTimeout);
    if (!info || info->name != driver_name) continue;
    return OtherDriver{socket, info->endpoint};
  }
  return std::nullopt;
}

Result<std::optional<UniqueFd>> HoldGoLock(const fs::path& directory) {
  TESSERA_ASSIGN(UniqueFd fd, OpenLock(directory, "pu.lock"));
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return std::optional(std::move(fd));
  if (errno == EWOULDBLOCK) return std::optional<UniqueFd>();
  return FromErrno(errno, "LockFailed", "locking pu.lock");
}

Result<Adoption> AdoptCheckpoint(const fs::path& directory, journal::Journal& journal, const std::string& boot_id,
                                 const std::function<Result<MigOnDemand>()>& mig_on_demand) {
  if (!fs::exists(directory / kCheckpoint)) return Adoption{};
  TESSERA_ASSIGN(const UniqueFd lock, LockCheckpoint(directory));
  const auto text = ReadFile(directory / kCheckpoint);
  const Ours ours = ReadOurs(directory);
  if (text && ours.Wrote(*text)) return Adoption{};
  auto checkpoint = text ? journal::ReadCheckpoint(*text) : std::unexpected(text.error());
  if (!checkpoint) {
    std::error_code error;
    fs::rename(directory / kCheckpoint, directory / (std::string(kCheckpoint) + ".quarantine"), error);
    return BadConfig(
        "BadCheckpoint", Format("the Go driver's checkpoint.json cannot be read: {}", checkpoint.error().message()),
        "it was moved to checkpoint.json.quarantine; claims are found again from CDI files and the kubelet");
  }
  const bool this_boot = checkpoint->boot_id.empty() || checkpoint->boot_id == boot_id;
  if (this_boot) TESSERA_TRY(RefuseMigOnDemand(directory, ours, *checkpoint, mig_on_demand));
  if (this_boot && !checkpoint->unserved.empty()) return std::unexpected(Unserved(checkpoint->unserved));
  Adoption adoption;
  std::set<std::string> there;
  for (api::PreparedClaim& claim : checkpoint->claims) {
    if (!this_boot) continue;
    there.insert(claim.claim.uid);
    const journal::ClaimPtr known = journal.Find(claim.claim.uid);
    if (known && known->state == api::ClaimState::kCompleted) continue;
    claim.boot_id = boot_id;
    TESSERA_TRY(journal.Start(claim));
    ++adoption.adopted;
  }
  TESSERA_TRY(journal.Refresh());
  // The Go driver wrote last, so what is not in its file it has unprepared. Runs were never in it.
  for (const journal::ClaimPtr& claim : journal.All()) {
    if (ours.fingerprints.empty() || there.contains(claim->claim.uid) || claim->run) continue;
    TESSERA_TRY(journal.Forget(claim->claim.uid));
    ++adoption.forgotten;
  }
  // Once only: from here on the journal is ahead of this file, also when we die before the next is written.
  TESSERA_TRY(WriteOurs(directory, {.fingerprints = {FingerprintOf(*text)}, .release = checkpoint->release}));
  return adoption;
}

Result<void> KeepCheckpoint(const fs::path& directory, journal::Journal& journal, const std::string& boot_id) {
  TESSERA_TRY(journal.Refresh());
  std::vector<api::PreparedClaim> claims;
  for (const journal::ClaimPtr& claim : journal.All()) {
    if (!claim->run) claims.push_back(*claim);
  }
  TESSERA_ASSIGN(const UniqueFd lock, LockCheckpoint(directory));
  const Ours ours = ReadOurs(directory);
  const std::string text = journal::WriteCheckpoint(claims, boot_id, ours.release);
  const std::string fingerprint = FingerprintOf(text);
  for (const std::string_view name : {kOurs, kCheckpoint}) {  // What a crash left half written.
    std::error_code ignored;
    fs::remove(directory / (std::string(name) + ".tmp"), ignored);
  }
  const auto there = ReadFile(directory / kCheckpoint);
  const bool current = !ours.fingerprints.empty() && ours.fingerprints.back() == fingerprint;
  if (current && there && FingerprintOf(*there) == fingerprint) return {};
  // The file that is there stays known as ours until the next has taken its place.
  Ours next{.release = ours.release};
  if (there && ours.Wrote(*there)) next.fingerprints.push_back(FingerprintOf(*there));
  next.fingerprints.push_back(fingerprint);
  TESSERA_TRY(WriteOurs(directory, next));
  return ReplaceFileDurably(directory / kCheckpoint, text, 0600);
}

}  // namespace tessera::driver
