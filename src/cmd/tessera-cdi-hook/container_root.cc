#include "cmd/tessera-cdi-hook/container_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "cmd/tessera-cdi-hook/resolve.h"

namespace tessera::hook {
namespace {

constexpr std::size_t kMaxEntries = 100'000;  // Of a directory.

std::unexpected<Error> Failed(int number, std::string_view doing, const std::string& path) {
  return FromErrno(number, "ContainerFile", Format("{} {} in the container", doing, Quote(path)));
}

// "/a/b" is "/a" and "b". What "/" or ".." would be the name of cannot be made.
Result<std::pair<std::string, std::string>> SplitPath(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path("/" + path).lexically_normal();
  if (!normal.has_filename()) return BadConfig("ContainerFile", Format("{} is not the name of a file", Quote(path)));
  return std::pair(normal.parent_path().string(), normal.filename().string());
}

// Puts what `make` makes under a fresh name in the parent of `path`, then renames it into place: no link at `path` is
// followed, and whoever looks sees the old or the new.
template <class Make>
Result<void> Replace(const ContainerRoot& root, const std::string& path, const Make& make) {
  TESSERA_ASSIGN(const auto place, SplitPath(path));
  TESSERA_ASSIGN(const UniqueFd parent, root.MakeDirectory(place.first));
  TESSERA_ASSIGN(const std::string random, RandomName());
  const std::string temporary = ".tessera-" + random;
  Result<void> made = make(parent.get(), temporary.c_str());
  if (made.has_value() && ::renameat(parent.get(), temporary.c_str(), parent.get(), place.second.c_str()) != 0) {
    made = Failed(errno, "replacing", path);
  }
  if (!made.has_value()) ::unlinkat(parent.get(), temporary.c_str(), 0);
  return made;
}

}  // namespace

Result<std::string> ReadToEnd(int fd, std::size_t limit, std::string_view name) {
  std::string content;
  std::size_t used = 0;
  for (;;) {
    content.resize(std::min(used + 16384, limit + 1));
    const ssize_t got = ::read(fd, content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(errno, "FileUnreadable", Format("reading {}", name));
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > limit) return BadConfig("FileTooLarge", Format("{} is larger than {} bytes", name, limit));
  }
  content.resize(used);
  return content;
}

Result<std::string> RandomName() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) return FromErrno(errno, "NoRandom", "asking for random bytes");
  return Format("{:016x}", bits);
}

Result<SelfFds> SelfFds::Open() {
  UniqueFd directory{::open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  struct statfs status{};
  if (!directory || ::fstatfs(directory.get(), &status) != 0) return FromErrno(errno, "NoProcfs", "/proc/self/fd");
  if (status.f_type != PROC_SUPER_MAGIC) {
    return BadConfig("NoProcfs", "/proc is not a procfs", "mount one on the host before containers start");
  }
  return SelfFds(std::move(directory));
}

UniqueFd SelfFds::Reopen(int fd, int flags) const {
  return UniqueFd{::openat(directory_.get(), std::to_string(fd).c_str(), flags | O_CLOEXEC)};
}

std::string SelfFds::Path(int fd) { return Format("/proc/self/fd/{}", fd); }

Result<ContainerRoot> ContainerRoot::Open(const std::string& path) {
  const std::string doing = Format("opening the container's root {}", Quote(path));
  UniqueFd root{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  struct stat theirs{}, ours{};
  if (!root || ::fstat(root.get(), &theirs) != 0 || ::stat("/", &ours) != 0) {
    return FromErrno(errno, "NoContainerRoot", doing);
  }
  if (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) {
    return BadConfig("NoContainerRoot", doing + ": it is the root of the host",
                     "this program is a createContainer hook, to be started by an OCI runtime");
  }
  TESSERA_ASSIGN(SelfFds self, SelfFds::Open());
  return ContainerRoot(std::move(root), std::move(self));
}

Result<ContainerRoot> ContainerRoot::AfterPivot(SelfFds self) {
  UniqueFd root{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!root) return FromErrno(errno, "NoContainerRoot", "opening the container's root");
  return ContainerRoot(std::move(root), std::move(self));
}

bool ContainerRoot::IsReadOnly() const {
  struct statvfs status{};
  return ::fstatvfs(root_.get(), &status) == 0 && (status.f_flag & ST_RDONLY) != 0;
}

Result<ContainerRoot> ContainerRoot::WithOwnMounts(int namespaces) const {
  const auto failed = [](std::string_view doing) { return FromErrno(errno, "NoNamespace", doing); };
  // A working directory moves along into the new mount namespace; a descriptor stays in the old one.
  if (::fchdir(root_.get()) != 0) return failed("entering the container's root");
  if (::unshare(CLONE_NEWNS | namespaces) != 0) {
    const auto refused = failed("making namespaces");
    return BadConfig("NoNamespace", refused.error().message(),
                     "the container runtime must run this hook with CAP_SYS_ADMIN in its user namespace");
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed("making mounts private");
  UniqueFd root{::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  struct statvfs status{};
  if (!root || ::fstatvfs(root.get(), &status) != 0) return failed("opening the container's root");
  if ((status.f_flag & ST_RDONLY) != 0) {
    constexpr unsigned long kKept =
        MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME;  // Same bits as ST_….
    const unsigned long flags = MS_REMOUNT | MS_BIND | (status.f_flag & kKept);
    if (::mount(nullptr, ".", nullptr, flags, nullptr) != 0) return failed("making the container's root writable");
  }
  TESSERA_ASSIGN(SelfFds self, SelfFds::Open());
  return ContainerRoot(std::move(root), std::move(self));
}

UniqueFd ContainerRoot::Resolve(const std::string& path, int flags) const {
  return ResolveInRoot(root_.get(), path, flags);
}

bool ContainerRoot::HasFile(const std::string& path) const {
  const UniqueFd handle = Resolve(path);
  struct stat status{};
  return handle && ::fstat(handle.get(), &status) == 0 && S_ISREG(status.st_mode);
}

Result<std::optional<UniqueFd>> ContainerRoot::OpenFile(const std::string& path) const {
  const UniqueFd handle = Resolve(path);
  if (!handle && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  struct stat status{};
  if (!handle || ::fstat(handle.get(), &status) != 0) return Failed(errno, "opening", path);
  if (!S_ISREG(status.st_mode)) {
    return BadConfig("ContainerFile", Format("{} in the container is not a regular file", Quote(path)));
  }
  UniqueFd file = self_.Reopen(handle.get(), O_RDONLY);
  if (!file) return Failed(errno, "opening", path);
  return file;
}

Result<std::optional<std::string>> ContainerRoot::ReadFile(const std::string& path, std::size_t limit) const {
  TESSERA_ASSIGN(const std::optional<UniqueFd> file, OpenFile(path));
  if (!file) return std::nullopt;
  return ReadToEnd(file->get(), limit, Format("{} in the container", Quote(path)));
}

Result<std::vector<std::string>> ContainerRoot::List(const std::string& directory) const {
  const UniqueFd handle = Resolve(directory, O_DIRECTORY);
  if (!handle && (errno == ENOENT || errno == ENOTDIR)) return {};
  UniqueFd readable = handle ? self_.Reopen(handle.get(), O_RDONLY | O_DIRECTORY) : UniqueFd{};
  if (!readable) return Failed(errno, "opening", directory);
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream{::fdopendir(readable.get())};
  if (stream == nullptr) return Failed(errno, "listing", directory);
  readable.Release();

  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxEntries) {
      return BadConfig("ContainerFile",
                       Format("{} in the container has more than {} entries", Quote(directory), kMaxEntries));
    }
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Result<UniqueFd> ContainerRoot::MakeDirectory(const std::string& path, mode_t mode) const {
  if (UniqueFd found = Resolve(path, O_DIRECTORY)) return found;
  if (errno != ENOENT) return Failed(errno, "opening", path);
  TESSERA_ASSIGN(const auto place, SplitPath(path));
  TESSERA_ASSIGN(const UniqueFd parent, MakeDirectory(place.first));
  if (::mkdirat(parent.get(), place.second.c_str(), mode) != 0 && errno != EEXIST) {
    return Failed(errno, "making directory", path);
  }
  // A link here leads nowhere, or was put here this moment.
  UniqueFd made{::openat(parent.get(), place.second.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!made) return Failed(errno, "making directory", path);
  return made;
}

Result<void> ContainerRoot::PutFile(const std::string& path, std::string_view content, mode_t mode) const {
  return Replace(*this, path, [&](int parent, const char* name) -> Result<void> {
    const UniqueFd file{::openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
    if (!file) return Failed(errno, "writing", path);
    return WriteAll(file.get(), content);
  });
}

Result<void> ContainerRoot::PutLink(const std::string& path, const std::string& target) const {
  TESSERA_ASSIGN(const auto place, SplitPath(path));
  if (const UniqueFd there = Resolve(place.first + "/" + place.second, O_NOFOLLOW)) {
    std::string found(target.size() + 1, '\0');  // One more than wanted: a longer target must not look equal.
    const ssize_t size = ::readlinkat(there.get(), "", found.data(), found.size());
    if (size >= 0 && std::string_view(found).substr(0, static_cast<std::size_t>(size)) == target) return {};
  }
  return Replace(*this, path, [&](int parent, const char* name) -> Result<void> {
    if (::symlinkat(target.c_str(), parent, name) != 0) return Failed(errno, "linking", path);
    return {};
  });
}

}  // namespace tessera::hook
