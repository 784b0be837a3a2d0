// cdi/root_dir.h: looks below a directory, and never out of it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace tessera::cdi {

// A driver root, dev root or sysfs. Paths are written as a process chrooted to it would ("/usr/lib64"), and every link
// resolves as for that process: absolute links and ".." stay inside. Safe to use from any thread.
class RootDir {
 public:
  static Result<RootDir> Open(const std::filesystem::path& root);

  struct Found {
    UniqueFd file;     // O_PATH.
    std::string path;  // Without links: "/usr/lib/x86_64-linux-gnu/libcuda.so.1" gives ".../libcuda.so.570.158.01".
    struct stat status{};
  };
  std::optional<Found> Find(std::string_view path) const;
  // A regular file, for reading.
  UniqueFd OpenFile(std::string_view path) const;
  // Its content; nothing when it is absent, unreadable, not a regular file or larger than `limit`.
  std::optional<std::string> Read(std::string_view path, std::size_t limit) const;

  // As ListNames(); none when it is no directory.
  std::vector<std::string> List(std::string_view path) const;

  // The link's own text, when there is a link.
  std::optional<std::string> ReadLink(std::string_view path) const;

  // Whatever stands at the path as the kernel finds it, links followed out of the root too: to notice changes, no more.
  std::optional<struct stat> Peek(std::string_view path) const;

 private:
  explicit RootDir(UniqueFd directory) : directory_(std::move(directory)) {}

  UniqueFd directory_;
};

// The names in an open directory, sorted; nothing and errno when it cannot be read. At most kMaxEntries of them, and
// only plain ones: nothing that we look for has another.
inline constexpr std::size_t kMaxEntries = 65536;
std::optional<std::vector<std::string>> ListNames(int directory);

// Letters, digits and ". _ + -": what needs no care in a file, an argument or a message.
bool IsPlainName(std::string_view name);

}  // namespace tessera::cdi
