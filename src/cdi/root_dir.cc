#include "cdi/root_dir.h"

#include <dirent.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/text.h"

namespace tessera::cdi {
namespace {

constexpr int kMaxLinks = 40;  // As the kernel's own limit.

struct CloseDir {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

std::optional<std::string> LinkText(int directory, const char* name) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(directory, name, text.data(), text.size());
  if (size <= 0 || static_cast<std::size_t>(size) == text.size()) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

// One component after the other, each opened without following it. openat2(RESOLVE_IN_ROOT) would do, but Linux 4.18
// (RHEL 8) lacks it and sandboxes forbid it; this works everywhere, and tells the path behind the links as it goes.
class Walk {
 public:
  explicit Walk(int root) : root_(root) {}

  // Empty on failure.
  UniqueFd Go(std::string_view path) {
    Enqueue(path);
    while (!todo_.empty()) {
      const std::string name = std::move(todo_.back());
      todo_.pop_back();
      if (!Step(name)) return {};
    }
    if (open_.empty()) return UniqueFd{::openat(root_, ".", O_PATH | O_CLOEXEC)};
    return std::move(open_.back());
  }

  std::string Path() const { return names_.empty() ? "/" : "/" + Join(names_, "/"); }

 private:
  void Enqueue(std::string_view path) {
    auto parts = Split(path, '/');
    std::ranges::reverse(parts);
    for (const std::string_view part : parts) {
      if (!part.empty() && part != ".") todo_.emplace_back(part);
    }
  }

  bool Step(const std::string& name) {
    if (name == "..") {
      if (!open_.empty()) Leave();
      return true;
    }
    const int here = open_.empty() ? root_ : open_.back().get();
    UniqueFd next{::openat(here, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    struct stat status{};
    if (!next || ::fstat(next.get(), &status) != 0) return false;
    if (S_ISLNK(status.st_mode)) return Follow(next.get());
    open_.push_back(std::move(next));
    names_.push_back(name);
    return true;
  }

  bool Follow(int link) {
    const auto target = LinkText(link, "");
    if (!target || ++links_ > kMaxLinks) return false;
    if (target->starts_with('/')) {
      while (!open_.empty()) Leave();
    }
    Enqueue(*target);
    return true;
  }

  void Leave() {
    open_.pop_back();
    names_.pop_back();
  }

  const int root_;
  std::vector<std::string> todo_;  // The next one last.
  std::vector<UniqueFd> open_;     // From the root's child to where we are.
  std::vector<std::string> names_;
  int links_ = 0;
};

// Nothing to normalize. "/a/.." is "/" only where "a" is no link, so such a path must be walked.
bool IsNormal(std::string_view path) {
  if (!path.starts_with('/') || (path.size() > 1 && path.ends_with('/'))) return false;
  return std::filesystem::path(path).lexically_normal().native() == path;
}

// Most paths have no links, and then one call will do. Empty, with errno, when there is a link or no openat2().
UniqueFd OpenWithoutLinks(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS;
  return UniqueFd{static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how))};
}

// An O_PATH descriptor can be read through this name only.
std::string NameOf(const UniqueFd& file) { return Format("/proc/self/fd/{}", file.get()); }

}  // namespace

Result<RootDir> RootDir::Open(const std::filesystem::path& root) {
  UniqueFd directory{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!directory) return FromErrno(errno, "FileUnreadable", "opening directory " + root.string());
  return RootDir(std::move(directory));
}

std::optional<RootDir::Found> RootDir::Find(std::string_view path) const {
  Found found;
  found.path = path;
  if (IsNormal(path)) {
    found.file = OpenWithoutLinks(directory_.get(), found.path);
    if (!found.file && errno == ENOENT) return std::nullopt;
  }
  if (!found.file) {
    Walk walk(directory_.get());
    found.file = walk.Go(path);
    found.path = walk.Path();
  }
  if (!found.file || ::fstat(found.file.get(), &found.status) != 0) return std::nullopt;
  return found;
}

UniqueFd RootDir::OpenFile(std::string_view path) const {
  const auto found = Find(path);
  // A device or FIFO is not opened: that alone may have effects.
  if (!found || !S_ISREG(found->status.st_mode)) return {};
  return UniqueFd{::open(NameOf(found->file).c_str(), O_RDONLY | O_CLOEXEC)};
}

std::optional<std::string> RootDir::Read(std::string_view path, std::size_t limit) const {
  const auto found = Find(path);
  if (!found) return std::nullopt;
  auto content = ReadFile(NameOf(found->file), limit);
  if (!content.has_value()) return std::nullopt;
  return std::move(*content);
}

std::vector<std::string> RootDir::List(std::string_view path) const {
  const auto found = Find(path);
  if (!found) return {};
  return ListNames(found->file.get()).value_or(std::vector<std::string>());
}

std::optional<std::string> RootDir::ReadLink(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto parent = Find(path.substr(0, slash));
  return parent ? LinkText(parent->file.get(), std::string(path.substr(slash + 1)).c_str()) : std::nullopt;
}

std::optional<struct stat> RootDir::Peek(std::string_view path) const {
  struct stat status{};
  const std::size_t start = path.find_first_not_of('/');
  const std::string relative(start == std::string_view::npos ? "." : path.substr(start));
  if (::fstatat(directory_.get(), relative.c_str(), &status, 0) != 0) return std::nullopt;
  return status;
}

std::optional<std::vector<std::string>> ListNames(int directory) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return std::nullopt;
  const std::unique_ptr<DIR, CloseDir> stream(::fdopendir(copy));
  if (stream == nullptr) Abort("fdopendir() refused a directory");
  std::vector<std::string> names;
  while (names.size() < kMaxEntries) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) return std::nullopt;
    if (entry == nullptr) break;
    if (IsPlainName(entry->d_name)) names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

bool IsPlainName(std::string_view name) {
  if (name.empty() || name == "." || name == "..") return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._+-").find(c) != std::string_view::npos;
  });
}

}  // namespace tessera::cdi
