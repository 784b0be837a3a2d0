#include "base/fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace tessera {

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<std::string> ReadFile(const std::filesystem::path& path, std::size_t limit) {
  const std::string doing = "reading " + path.string();
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!file) return FromErrno(errno, "FileUnreadable", doing);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return FromErrno(errno, "FileUnreadable", doing);
  if (!S_ISREG(status.st_mode)) return BadConfig("FileUnreadable", doing + ": not a regular file");

  // procfs and sysfs report size 0 or 4096, so the size is a hint at best: read until the end.
  std::string content;
  std::size_t used = 0;
  for (;;) {
    if (used > limit) {
      return BadConfig("FileTooLarge", doing + ": larger than the limit of " + std::to_string(limit) + " bytes");
    }
    content.resize(used + 16384);
    const ssize_t got = ::read(file.get(), content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(errno, "FileUnreadable", doing);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  content.resize(used);
  if (used > limit) {
    return BadConfig("FileTooLarge", doing + ": larger than the limit of " + std::to_string(limit) + " bytes");
  }
  return content;
}

Result<void> ReplaceFile(const std::filesystem::path& path, std::string_view content, mode_t mode) {
  const std::string doing = "writing " + path.string();
  std::string temporary = path.string() + ".XXXXXX";
  UniqueFd file{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (!file) return FromErrno(errno, "FileUnwritable", doing);
  auto written = WriteAll(file.get(), content);
  if (written.has_value() && ::fchmod(file.get(), mode) != 0) written = FromErrno(errno, "FileUnwritable", doing);
  if (written.has_value() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = FromErrno(errno, "FileUnwritable", doing);
  }
  if (!written.has_value()) {
    ::unlink(temporary.c_str());
    return std::unexpected(std::move(written).error().Wrap(doing));
  }
  return {};
}

Result<void> ReplaceFileDurably(const std::filesystem::path& path, std::string_view content, mode_t mode) {
  const std::string doing = "writing " + path.string();
  const std::string temporary = path.string() + ".tmp";
  const UniqueFd file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!file) return FromErrno(errno, "FileUnwritable", doing);
  auto written = WriteAll(file.get(), content);
  if (written && (::fchmod(file.get(), mode) != 0 || ::fdatasync(file.get()) != 0 ||
                  ::rename(temporary.c_str(), path.c_str()) != 0)) {
    written = FromErrno(errno, "FileUnwritable", doing);
  }
  if (written) return {};
  ::unlink(temporary.c_str());
  return std::unexpected(std::move(written).error().Wrap(doing));
}

Result<void> WriteAll(int fd, std::string_view data) {
  bool is_socket = true;
  while (!data.empty()) {
    const ssize_t put =
        is_socket ? ::send(fd, data.data(), data.size(), MSG_NOSIGNAL) : ::write(fd, data.data(), data.size());
    if (put < 0 && errno == ENOTSOCK) {
      is_socket = false;
      continue;
    }
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FromErrno(errno, "WriteFailed", "write");
    data.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<TempDir> TempDir::Create(std::string_view prefix) {
  const char* base = std::getenv("TMPDIR");
  std::string path = (base != nullptr && *base != '\0' ? base : "/tmp") + ("/" + std::string(prefix) + ".XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return FromErrno(errno, "FileUnwritable", "making directory " + path);
  return TempDir(path);
}

TempDir::~TempDir() {
  if (path_.empty()) return;
  std::error_code ignored;  // A directory left in /tmp harms nobody, and a destructor has nobody to tell.
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tessera
