#include "base/directory.h"

#include <sys/stat.h>

#include <cerrno>

namespace tessera {

Result<void> MakeDirectory(const std::filesystem::path& path, mode_t mode) {
  std::error_code ignored;  // mkdir(2) says what is wrong.
  std::filesystem::create_directories(path.parent_path(), ignored);
  if (::mkdir(path.c_str(), mode) == 0) return {};
  int error = errno;
  if (error == EEXIST) {
    if (std::filesystem::is_directory(path, ignored)) return {};
    error = ENOTDIR;
  }
  return FromErrno(error, "NoDirectory", "making " + path.string());
}

}  // namespace tessera
