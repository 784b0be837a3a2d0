#include "sim/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/fd.h"
#include "base/text.h"

namespace tessera::sim {
namespace {

constexpr mode_t kModeBits = 07777;
constexpr std::string_view kTemporary = ".tessera-sim.new";  // One writer at a time: the store's lock.

std::unexpected<Error> Failed(std::string_view doing, const std::string& path) {
  return FromErrno(errno, "TreeUnwritable", Format("{} {}", doing, path));
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

Result<std::vector<std::string>> Names(int folder, const std::string& path) {
  UniqueFd own{::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!own) return Failed("opening", path);
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(own.get()));
  if (directory == nullptr) return Failed("opening", path);
  (void)own.Release();  // closedir() closes it.
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return Failed("listing", path);
  return names;
}

// Removes `name` and, when it is a directory, all below it. Links are removed, not followed.
Result<void> Remove(int folder, const std::string& name, const std::string& path) {
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR) return Failed("removing", path);
  {
    const UniqueFd inner{::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!inner) return Failed("removing", path);
    TESSERA_ASSIGN(const auto children, Names(inner.get(), path));
    for (const std::string& child : children) TESSERA_TRY(Remove(inner.get(), child, path + '/' + child));
  }
  if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0) return Failed("removing", path);
  return {};
}

// One place in the tree: the open parent, the name in it, and how to call it in messages.
struct Place {
  int parent;
  const std::string& name;
  const std::string& path;
};

std::optional<struct stat> Look(const Place& place) {
  struct stat status{};
  if (::fstatat(place.parent, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return status;
}

// Puts what was made under the temporary name at its place.
Result<void> Move(const Place& place) {
  const std::string temporary(kTemporary);
  const auto present = Look(place);
  if (present && S_ISDIR(present->st_mode)) TESSERA_TRY(Remove(place.parent, place.name, place.path));
  if (::renameat(place.parent, temporary.c_str(), place.parent, place.name.c_str()) != 0) {
    return Failed("writing", place.path);
  }
  return {};
}

Result<void> ClearTemporary(const Place& place) {
  return Remove(place.parent, std::string(kTemporary), place.path + " (temporary)");
}

bool HasContent(const Place& place, std::string_view wanted) {
  const UniqueFd file{::openat(place.parent, place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (!file) return false;
  char buffer[16384];
  while (!wanted.empty()) {
    const ssize_t got = ::read(file.get(), buffer, std::min(sizeof buffer, wanted.size()));
    if (got <= 0 || !wanted.starts_with(std::string_view(buffer, static_cast<std::size_t>(got)))) return false;
    wanted.remove_prefix(static_cast<std::size_t>(got));
  }
  return true;
}

Result<void> Put(const Place& place, const File& file) {
  const auto present = Look(place);
  if (present && S_ISREG(present->st_mode) && (present->st_mode & kModeBits) == file.mode &&
      static_cast<std::size_t>(present->st_size) == file.content.size() && HasContent(place, file.content)) {
    return {};
  }
  TESSERA_TRY(ClearTemporary(place));
  const std::string temporary(kTemporary);
  const UniqueFd out{::openat(place.parent, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!out) return Failed("writing", place.path);
  if (auto written = WriteAll(out.get(), file.content); !written.has_value()) {
    return std::unexpected(std::move(written).error().Wrap("writing " + place.path));
  }
  if (::fchmod(out.get(), file.mode) != 0) return Failed("writing", place.path);
  return Move(place);
}

Result<void> Put(const Place& place, const Link& link) {
  const auto present = Look(place);
  if (present && S_ISLNK(present->st_mode)) {
    std::string target(link.target.size() + 1, '\0');  // One more byte shows whether there is more.
    const ssize_t size = ::readlinkat(place.parent, place.name.c_str(), target.data(), target.size());
    if (size >= 0 && std::string_view(target).substr(0, static_cast<std::size_t>(size)) == link.target) return {};
  }
  TESSERA_TRY(ClearTemporary(place));
  const std::string temporary(kTemporary);
  if (::symlinkat(link.target.c_str(), place.parent, temporary.c_str()) != 0) return Failed("linking", place.path);
  return Move(place);
}

// Gives a node its mode and its place. The mode is set apart from mknod(2), which obeys the umask.
Result<void> FinishNode(const Place& place, mode_t mode) {
  const std::string temporary(kTemporary);
  if (::fchmodat(place.parent, temporary.c_str(), mode, 0) != 0) return Failed("making", place.path);
  return Move(place);
}

Result<void> Put(const Place& place, const Socket&) {
  const auto present = Look(place);
  if (present && S_ISSOCK(present->st_mode)) return {};
  TESSERA_TRY(ClearTemporary(place));
  const std::string temporary(kTemporary);
  if (::mknodat(place.parent, temporary.c_str(), S_IFSOCK, 0) != 0) return Failed("making", place.path);
  return FinishNode(place, 0666);
}

// Whether device nodes here cannot be opened, as on many systems' /tmp and /dev/shm: then a plain file serves better.
bool IsNoDev(int directory) {
  struct statvfs status{};
  return ::fstatvfs(directory, &status) == 0 && (status.f_flag & ST_NODEV) != 0;
}

Result<void> Put(const Place& place, const CharDevice& device, Shortfall& shortfall) {
  if (IsNoDev(place.parent)) {
    shortfall.no_devices = true;
    return Put(place, File{.content = {}, .mode = device.mode});
  }
  const dev_t number = makedev(device.major, device.minor);
  const auto present = Look(place);
  if (present && S_ISCHR(present->st_mode) && present->st_rdev == number &&
      (present->st_mode & kModeBits) == device.mode) {
    return {};
  }
  // A plain file in its place stays when a device cannot be made, be it for permission or on a read-only root.
  const bool stands_in =
      present && S_ISREG(present->st_mode) && present->st_size == 0 && (present->st_mode & kModeBits) == device.mode;
  if (auto cleared = ClearTemporary(place); !cleared.has_value() && !stands_in) return cleared;
  const std::string temporary(kTemporary);
  if (::mknodat(place.parent, temporary.c_str(), S_IFCHR, number) == 0) return FinishNode(place, device.mode);
  if (errno != EPERM && !stands_in) return Failed("making", place.path);
  shortfall.no_devices = true;
  return stands_in ? Result<void>{} : Put(place, File{.content = {}, .mode = device.mode});
}

Result<UniqueFd> OpenFolder(const Place& place, bool owned) {
  const auto present = Look(place);
  if (present && !S_ISDIR(present->st_mode)) {
    if (!owned) {
      return BadConfig("TreeUnwritable",
                       Format("{} is not a directory; the simulator follows no links there", place.path));
    }
    TESSERA_TRY(Remove(place.parent, place.name, place.path));
  }
  const bool made = ::mkdirat(place.parent, place.name.c_str(), 0755) == 0;
  if (!made && errno != EEXIST) return Failed("making directory", place.path);
  UniqueFd folder{::openat(place.parent, place.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!folder || (made && ::fchmod(folder.get(), 0755) != 0)) return Failed("opening directory", place.path);
  return folder;
}

bool Owns(const std::vector<std::string>& owned, std::string_view name) {
  return std::ranges::any_of(owned, [&](const std::string& prefix) { return name.starts_with(prefix); });
}

Result<void> RemoveObsolete(int directory, const std::string& path, const Folder& folder,
                            const std::vector<std::string>& owned) {
  if (owned.empty()) return {};
  TESSERA_ASSIGN(const auto names, Names(directory, path));
  for (const std::string& name : names) {
    if (folder.entries.contains(name) || !Owns(owned, name)) continue;
    TESSERA_TRY(Remove(directory, name, path + '/' + name));
  }
  return {};
}

// `inherited`: the folder above is owned, hence this one.
Result<void> ApplyOpen(int directory, const std::string& path, const Folder& folder, bool inherited,
                       Shortfall& shortfall) {
  const std::vector<std::string> everything{""};
  const auto& owned = inherited && !folder.shared ? everything : folder.owned;
  TESSERA_TRY(RemoveObsolete(directory, path, folder, owned));
  for (const auto& [name, entry] : folder.entries) {
    const std::string inner_path = path + '/' + name;
    const Place place{directory, name, inner_path};
    if (const auto* inner = std::get_if<Folder>(&entry)) {
      const bool ours = Owns(owned, name);
      TESSERA_ASSIGN(const UniqueFd opened, OpenFolder(place, ours));
      TESSERA_TRY(ApplyOpen(opened.get(), inner_path, *inner, ours, shortfall));
    } else if (const auto* device = std::get_if<CharDevice>(&entry)) {
      TESSERA_TRY(Put(place, *device, shortfall));
    } else if (const auto* link = std::get_if<Link>(&entry)) {
      TESSERA_TRY(Put(place, *link));
    } else if (const auto* file = std::get_if<File>(&entry)) {
      TESSERA_TRY(Put(place, *file));
    } else {
      TESSERA_TRY(Put(place, std::get<Socket>(entry)));
    }
  }
  return {};
}

}  // namespace

Folder& SubFolder(Folder& top, std::string_view path) {
  Folder* folder = &top;
  for (const std::string_view name : Split(path, '/')) {
    if (name.empty() || name == "." || name == "..") Abort(Format("{} is no path in a driver root", Quote(path)));
    auto& entry = folder->entries[std::string(name)];
    if (!std::holds_alternative<Folder>(entry)) entry.emplace<Folder>();
    folder = &std::get<Folder>(entry);
  }
  return *folder;
}

void Add(Folder& top, std::string_view path, Folder::Entry entry) {
  const std::size_t slash = path.rfind('/');
  Folder& parent = slash == std::string_view::npos ? top : SubFolder(top, path.substr(0, slash));
  parent.entries.insert_or_assign(std::string(path.substr(slash + 1)), std::move(entry));
}

Result<Shortfall> Apply(const std::filesystem::path& root, const Folder& folder) {
  const UniqueFd directory{::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!directory) return Failed("opening directory", root.string());
  Shortfall shortfall;
  TESSERA_TRY(ApplyOpen(directory.get(), root.string(), folder, false, shortfall));
  return shortfall;
}

}  // namespace tessera::sim
