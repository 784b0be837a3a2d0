#include "kubelet/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"

namespace tessera::kubelet {

Result<void> CheckListener(const std::filesystem::path& path) {
  const std::string& name = path.native();
  if (name.size() > kMaxSocketPath) {
    return BadConfig("SocketPathTooLong", Format("{} is longer than {} bytes", Quote(name), kMaxSocketPath));
  }
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FromErrno(errno, "SocketFailed", "making a unix socket");
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, name.data(), name.size());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return {};
  const int error = errno;
  if (error == EAGAIN) return {};  // Its backlog is full, so somebody listens.
  if (error == ENOENT) return Transient("NobodyListens", Format("there is no socket {}", name));
  if (error == ECONNREFUSED) return Transient("NobodyListens", Format("nobody listens on {}", name));
  return FromErrno(error, "SocketUnusable", Format("connecting to {}", name));
}

std::optional<FileIdentity> SocketAt(const std::filesystem::path& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return std::nullopt;
  return FileIdentity{info.st_dev, info.st_ino};
}

bool UnlinkIf(const std::filesystem::path& path, const FileIdentity& identity) {
  return SocketAt(path) == identity && ::unlink(path.c_str()) == 0;
}

}  // namespace tessera::kubelet
