#include "cmd/tessera-cdi-hook/resolve.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ranges>
#include <vector>

#include "base/text.h"

namespace tessera::hook {
namespace {

constexpr int kMaxLinks = 40;           // The kernel's own limit.
constexpr std::size_t kMaxDepth = 512;  // Of directories held open at a time.

bool Refuse(int number) {
  errno = number;
  return false;
}

// What openat2 does in the kernel, one component at a time, for kernels before 5.6 (RHEL 8). A component is opened
// without following it and then judged by its handle. ".." goes back to the handle we came from, so a directory that
// is moved away meanwhile does not lead out either. Links of procfs are followed by their text: no magic.
class Walk {
 public:
  Walk(int root, int flags) : root_(root), flags_(flags) {}

  UniqueFd To(std::string_view path) {
    Push(path);
    while (!rest_.empty()) {
      const std::string name = std::move(rest_.back());
      rest_.pop_back();
      if (!Step(name)) return {};
    }
    if (below_.empty()) return UniqueFd{::openat(root_, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct stat status{};
    if (::fstat(Here(), &status) != 0) return {};
    if ((flags_ & O_DIRECTORY) != 0 && !S_ISDIR(status.st_mode)) {
      errno = ENOTDIR;
      return {};
    }
    return std::move(below_.back());
  }

 private:
  int Here() const { return below_.empty() ? root_ : below_.back().get(); }

  void Push(std::string_view path) {
    for (const std::string_view name : Split(path, '/') | std::views::reverse) {
      if (!name.empty() && name != ".") rest_.emplace_back(name);
    }
  }

  bool Step(const std::string& name) {
    if (name == "..") {
      if (!below_.empty()) below_.pop_back();
      return true;
    }
    UniqueFd next{::openat(Here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    struct stat status{};
    if (!next || ::fstat(next.get(), &status) != 0) return false;
    const bool last = rest_.empty();
    if (S_ISLNK(status.st_mode) && (!last || (flags_ & O_NOFOLLOW) == 0)) return Follow(next.get());
    if (below_.size() == kMaxDepth) return Refuse(ENAMETOOLONG);
    below_.push_back(std::move(next));
    return true;
  }

  bool Follow(int link) {
    if (++links_ > kMaxLinks) return Refuse(ELOOP);
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(link, "", target, sizeof target);
    if (size < 0) return false;
    if (size == sizeof target) return Refuse(ENAMETOOLONG);
    const std::string_view text(target, static_cast<std::size_t>(size));
    if (text.starts_with('/')) below_.clear();
    Push(text);
    return true;
  }

  const int root_;
  const int flags_;
  int links_ = 0;
  std::vector<UniqueFd> below_;    // The directories from the root down to where we are.
  std::vector<std::string> rest_;  // What is still to walk, the next one last.
};

}  // namespace

UniqueFd ResolveInRoot(int root, const std::string& path, int flags) {
  struct open_how how{};
  how.flags = static_cast<__u64>(O_PATH | O_CLOEXEC | flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how);
  if (fd >= 0) return UniqueFd{static_cast<int>(fd)};
  // EAGAIN: something was renamed while the kernel went through "..". The walk does not depend on luck.
  if (errno == ENOSYS || errno == EAGAIN) return Walk(root, flags).To(path);
  return {};
}

}  // namespace tessera::hook
