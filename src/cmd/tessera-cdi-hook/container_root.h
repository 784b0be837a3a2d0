// container_root.h: the container's files, which belong to a stranger.
//
// The image, or another container with a volume in common, may put links, FIFOs and devices anywhere and change them at
// any time. So no path is checked first and used as a string later: each is resolved inside the root to a descriptor,
// and everything after that is done to the descriptor. What is found is read as data, never executed or mounted.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace tessera::hook {

// All that is left of `fd`, or an error when that is more than `limit` bytes. `name` is for the message.
Result<std::string> ReadToEnd(int fd, std::size_t limit, std::string_view name);

// "9f86d081884c7d65": for names that nobody can wait for.
Result<std::string> RandomName();

// This process's descriptors as files, in a procfs that was checked to be one. Opening or mounting through it reaches
// exactly the object behind the descriptor, whatever its path leads to by now.
class SelfFds {
 public:
  static Result<SelfFds> Open();

  UniqueFd Reopen(int fd, int flags) const;  // None on failure, with errno.
  static std::string Path(int fd);           // "/proc/self/fd/7", for mount(2).

 private:
  explicit SelfFds(UniqueFd directory) : directory_(std::move(directory)) {}
  UniqueFd directory_;
};

// Paths are as the container sees them: absolute or relative, they start at its root and never leave it.
class ContainerRoot {
 public:
  // Refuses "", "/" and every other name of this process's own root.
  static Result<ContainerRoot> Open(const std::string& path);

  // The root of this process, once that is the container's.
  static Result<ContainerRoot> AfterPivot(SelfFds self);

  // Takes this process into a copy of its mount namespace (and further new ones, CLONE_NEW…), from which nothing comes
  // back, and returns the root in there. It is also the working directory.
  //
  // In the copy the root is writable where only its mount was read-only: for a container with a read-only root, crun
  // makes it so before the hooks and runc after them.
  Result<ContainerRoot> WithOwnMounts(int namespaces = 0) const;
  bool IsReadOnly() const;

  int fd() const { return root_.get(); }

  // A handle (O_PATH), or none with errno. Links are followed inside the root; with O_NOFOLLOW not the last one.
  UniqueFd Resolve(const std::string& path, int flags = 0) const;

  bool HasFile(const std::string& path) const;  // A regular file, also behind links.

  // A regular file opened for reading; nothing when there is none. A FIFO, device or directory is an error, and is
  // never opened.
  Result<std::optional<UniqueFd>> OpenFile(const std::string& path) const;
  Result<std::optional<std::string>> ReadFile(const std::string& path, std::size_t limit) const;

  // The names in a directory, sorted; none when it does not exist.
  Result<std::vector<std::string>> List(const std::string& directory) const;

  // The directory, made with its parents (0755) where missing.
  Result<UniqueFd> MakeDirectory(const std::string& path, mode_t mode = 0755) const;

  // Replaces whatever stands at `path` except a directory, in one step.
  Result<void> PutFile(const std::string& path, std::string_view content, mode_t mode) const;
  Result<void> PutLink(const std::string& path, const std::string& target) const;

 private:
  ContainerRoot(UniqueFd root, SelfFds self) : root_(std::move(root)), self_(std::move(self)) {}

  UniqueFd root_;
  SelfFds self_;
};

}  // namespace tessera::hook
