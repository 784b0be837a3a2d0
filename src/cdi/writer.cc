#include "cdi/writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "cdi/root_dir.h"

namespace tessera::cdi {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kClaimPrefix = "k8s.gpu.nvidia.com-claim_";
constexpr std::string_view kSuffix = ".yaml";
constexpr const char* kBaseFile = "k8s.gpu.nvidia.com-base.yaml";
constexpr const char* kNodeDevicesFile = "k8s.gpu.nvidia.com-device_base.yaml";
constexpr std::string_view kTemporaryPrefix = ".spec.", kTemporarySuffix = ".tmp";  // Runtimes scan *.yaml and *.json.
constexpr std::string_view kCommentMark = "tessera: ";
constexpr std::size_t kMaxSpecSize = std::size_t{4} << 20;

std::string ClaimFileName(std::string_view uid) { return Format("{}{}{}", kClaimPrefix, uid, kSuffix); }

std::optional<std::string> UidOf(std::string_view file) {
  if (!file.starts_with(kClaimPrefix) || !file.ends_with(kSuffix)) return std::nullopt;
  file.remove_prefix(kClaimPrefix.size());
  if (file.size() < kSuffix.size()) return std::nullopt;
  file.remove_suffix(kSuffix.size());
  if (!api::IsClaimUid(file)) return std::nullopt;
  return std::string(file);
}

std::vector<std::string> UidsOf(const std::vector<std::string>& names) {
  std::vector<std::string> uids;
  for (const std::string& name : names) {
    if (auto uid = UidOf(name)) uids.push_back(std::move(*uid));
  }
  return uids;
}

// A comment may carry text of users, and YAML has more line ends than one. So it is written in plain ASCII: everything
// else, and '%' itself, as %XX.
std::string Encode(std::string_view comment) {
  std::string text(kCommentMark);
  for (const char c : comment) {
    if (c >= 0x20 && c < 0x7F && c != '%') {
      text += c;
    } else {
      text += Format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return text;
}

std::string Decode(std::string_view text) {
  std::string comment;
  while (!text.empty()) {
    const auto code =
        text.size() >= 3 && text[0] == '%' ? ParseNumber<std::uint8_t>(text.substr(1, 2), 16) : std::nullopt;
    comment += code ? static_cast<char>(*code) : text[0];
    text.remove_prefix(code ? 3 : 1);
  }
  return comment;
}

std::string ClaimText(const Spec& spec, std::string_view comment) {
  return Print(spec, comment.empty() ? std::string() : Encode(comment));
}

std::string_view Advice(int number) {
  switch (number) {
    case EROFS:
      return "it is mounted read-only: check the cdi hostPath volume, its mount and --cdi-root";
    case EACCES:
    case EPERM:
      return "the plugin must run as root and own the directory: check its security context and --cdi-root";
    case ENOSPC:
    case EDQUOT:
      return "free space on its file system, often a small tmpfs at /run";
    case ENOTDIR:
      return "something else stands in its place: check --cdi-root";
    default:
      return "check --cdi-root and the cdi hostPath volume";
  }
}

std::unexpected<Error> Failed(int number, const fs::path& directory, std::string_view doing) {
  const auto error = FromErrno(number, "CdiWriteFailed", Format("{} in {}", doing, directory.string())).error();
  return std::unexpected(Error(error.kind(), error.code(), error.message(), std::string(Advice(number))));
}

UniqueFd OpenDirectory(const fs::path& path) {
  return UniqueFd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}

// Opens the directory and makes it first when it is missing; errno says why not.
UniqueFd MakeDirectory(const fs::path& path) {
  UniqueFd directory = OpenDirectory(path);
  if (directory || errno != ENOENT) return directory;
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    errno = error.value();
    return {};
  }
  directory = OpenDirectory(path);
  if (directory) ::fchmod(directory.get(), 0755);  // Whatever the umask.
  return directory;
}

std::string TemporaryName() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) Abort("getrandom() gave no bytes");
  return Format("{}{:016x}{}", kTemporaryPrefix, number, kTemporarySuffix);
}

// Writes a new file and renames it over `name`. 0, or the errno of what failed; then no new file is left.
int Replace(const UniqueFd& directory, const char* name, std::string_view content) {
  const std::string temporary = TemporaryName();
  const UniqueFd file{
      ::openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644)};
  if (!file) return errno;
  ::flock(file.get(), LOCK_EX);  // Tells RemoveLeftovers() that its maker lives.
  int failure = 0;
  while (failure == 0 && !content.empty()) {
    const ssize_t put = ::write(file.get(), content.data(), content.size());
    if (put >= 0) content.remove_prefix(static_cast<std::size_t>(put));
    if (put < 0 && errno != EINTR) failure = errno;
  }
  if (failure == 0 && ::fchmod(file.get(), 0644) != 0) failure = errno;
  if (failure == 0 && ::renameat(directory.get(), temporary.c_str(), directory.get(), name) != 0) failure = errno;
  if (failure != 0) ::unlinkat(directory.get(), temporary.c_str(), 0);
  return failure;
}

Result<void> Put(const fs::path& path, const char* name, std::string_view content) {
  const std::string doing = Format("writing the CDI spec {}", name);
  int failure = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const UniqueFd directory = MakeDirectory(path);
    if (!directory) return Failed(errno, path, doing);
    failure = Replace(directory, name, content);
    if (failure != ENOENT) break;  // The directory was removed under us: once more, with a new one.
  }
  if (failure != 0) return Failed(failure, path, doing);
  return {};
}

// A regular file of this directory, for reading; never a link's target, never blocks.
UniqueFd OpenRegular(const UniqueFd& directory, const std::string& name, struct stat& status) {
  UniqueFd file{::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return file;
}

// At most `limit` bytes of the file.
std::string ReadSome(const UniqueFd& file, std::size_t limit) {
  std::string content(limit, '\0');
  std::size_t used = 0;
  while (used < limit) {
    const ssize_t got = ::read(file.get(), content.data() + used, limit - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  content.resize(used);
  return content;
}

bool Holds(const fs::path& path, const std::string& name, std::string_view content) {
  const UniqueFd directory = OpenDirectory(path);
  struct stat status{};
  const UniqueFd file = directory ? OpenRegular(directory, name, status) : UniqueFd();
  if (!file || status.st_size != static_cast<off_t>(content.size()) || (status.st_mode & 0777U) != 0644U) return false;
  return ReadSome(file, content.size() + 1) == content;
}

// True when it had to be written.
Result<bool> Ensure(const fs::path& path, const std::string& name, std::string_view content) {
  if (Holds(path, name, content)) return false;
  TESSERA_TRY(Put(path, name.c_str(), content));
  return true;
}

Result<std::vector<std::string>> Names(const UniqueFd& directory, const fs::path& path) {
  auto names = directory ? ListNames(directory.get()) : std::nullopt;
  if (!names) return Failed(errno, path, "listing the CDI specs");
  return std::move(*names);
}

Writer::ClaimFile ReadClaim(const UniqueFd& directory, std::string uid) {
  Writer::ClaimFile claim{std::move(uid), {}, std::nullopt};
  struct stat status{};
  const UniqueFd file = OpenRegular(directory, ClaimFileName(claim.uid), status);
  if (!file || status.st_size > static_cast<off_t>(kMaxSpecSize)) return claim;
  const std::string text = ReadSome(file, static_cast<std::size_t>(status.st_size));
  const std::string mark = Format("# {}", kCommentMark);
  if (text.starts_with(mark))
    claim.comment = Decode(std::string_view(text).substr(mark.size(), text.find('\n') - mark.size()));
  if (auto spec = Parse(text); spec.has_value()) claim.spec = std::move(*spec);
  return claim;
}

// The Go driver's file for the node, or an empty one of its kind where there is none that can be read.
Spec ReadNodeDevices(const fs::path& path) {
  const UniqueFd directory = OpenDirectory(path);
  struct stat status{};
  const UniqueFd file = directory ? OpenRegular(directory, kNodeDevicesFile, status) : UniqueFd();
  if (file && status.st_size <= static_cast<off_t>(kMaxSpecSize)) {
    auto spec = Parse(ReadSome(file, static_cast<std::size_t>(status.st_size)));
    if (spec && spec->kind == kNodeDeviceKind) return *std::move(spec);
  }
  Spec spec;
  spec.kind = kNodeDeviceKind;
  return spec;
}

bool HasDevice(const Spec& spec, const std::string& name) {
  return std::ranges::find(spec.devices, name, &Device::name) != spec.devices.end();
}

// Removes the temporary files of writers that died. A living one holds the lock on its file, or finds its file gone and
// writes it again.
void RemoveLeftovers(const UniqueFd& directory, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!name.starts_with(kTemporaryPrefix) || !name.ends_with(kTemporarySuffix)) continue;
    struct stat status{};
    const UniqueFd file = OpenRegular(directory, name, status);
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlinkat(directory.get(), name.c_str(), 0);
  }
}

std::unexpected<Error> BadUid(std::string_view uid) {
  return BadConfig("BadClaimUid", Format("{} is not a claim's UID", Quote(Clip(uid, 80))));
}

}  // namespace

Writer::Writer(fs::path directory) : directory_(std::move(directory)), base_path_(directory_ / kBaseFile) {}

Result<bool> Writer::EnsureClaim(const std::string& uid, const Spec& spec, std::string_view comment) {
  if (!api::IsClaimUid(uid)) return BadUid(uid);
  TESSERA_TRY(Validate(spec));
  return Ensure(directory_, ClaimFileName(uid), ClaimText(spec, comment));
}

Result<void> Writer::RemoveClaim(const std::string& uid) {
  if (!api::IsClaimUid(uid)) return BadUid(uid);
  const std::string name = ClaimFileName(uid);
  const UniqueFd directory = OpenDirectory(directory_);
  if (directory && ::unlinkat(directory.get(), name.c_str(), 0) == 0) return {};
  if (errno == ENOENT) return {};
  return Failed(errno, directory_, Format("removing the CDI spec {}", name));
}

Result<bool> Writer::EnsureBase(const std::shared_ptr<const Spec>& spec) {
  std::shared_ptr<const std::string> text;
  std::optional<Seen> known;
  {
    const std::lock_guard lock(mutex_);
    if (base_ != spec) {
      TESSERA_TRY(Validate(*spec));
      base_ = spec;
      base_text_ = std::make_shared<const std::string>(
          Print(*spec, "The NVIDIA driver's files, for all claims. Rewritten when the driver changes."));
      base_seen_.reset();
    }
    text = base_text_;
    known = base_seen_;
  }
  const auto seen = LookAtBase();
  if (known && seen == known) return false;
  TESSERA_ASSIGN(const bool written, Ensure(directory_, kBaseFile, *text));
  // Two changes within one tick of the file system's clock look alike, so a young file is read again.
  const bool is_old = seen && std::time(nullptr) - seen->changed.tv_sec > 1;
  const std::lock_guard lock(mutex_);
  if (base_ == spec) base_seen_ = !written && is_old ? seen : std::nullopt;
  return written;
}

std::optional<Writer::Seen> Writer::LookAtBase() const {
  struct stat status{};
  if (::lstat(base_path_.c_str(), &status) != 0) return std::nullopt;
  return Seen{status.st_dev, status.st_ino, status.st_size, status.st_ctim};
}

bool Writer::HasClaim(const std::string& uid) const {
  const UniqueFd directory = OpenDirectory(directory_);
  struct stat status{};
  return directory && api::IsClaimUid(uid) && OpenRegular(directory, ClaimFileName(uid), status);
}

bool Writer::HasNodeDevices(const std::vector<std::string>& names) const {
  if (names.empty()) return true;
  const Spec spec = ReadNodeDevices(directory_);
  return std::ranges::all_of(names, [&](const std::string& name) { return HasDevice(spec, name); });
}

Result<bool> Writer::EnsureNodeDevices(const std::vector<std::string>& names) {
  if (HasNodeDevices(names)) return false;
  Spec spec = ReadNodeDevices(directory_);
  for (const std::string& name : names) {
    if (HasDevice(spec, name)) continue;
    Device& device = spec.devices.emplace_back();
    device.name = name;
    device.edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};  // A device without edits is refused.
  }
  TESSERA_TRY(Validate(spec));
  return Ensure(directory_, kNodeDevicesFile, Print(spec, ""));
}

Result<std::vector<Writer::ClaimFile>> Writer::ReadClaims() const {
  std::vector<ClaimFile> claims;
  const UniqueFd directory = OpenDirectory(directory_);
  if (!directory && errno == ENOENT) return claims;
  TESSERA_ASSIGN(const std::vector<std::string> names, Names(directory, directory_));
  RemoveLeftovers(directory, names);
  for (std::string& uid : UidsOf(names)) claims.push_back(ReadClaim(directory, std::move(uid)));
  return claims;
}

Result<std::vector<std::string>> Writer::ListClaims() const {
  const UniqueFd directory = OpenDirectory(directory_);
  if (!directory && errno == ENOENT) return {};
  TESSERA_ASSIGN(const std::vector<std::string> names, Names(directory, directory_));
  RemoveLeftovers(directory, names);
  return UidsOf(names);
}

}  // namespace tessera::cdi
