// kubelet/unix_socket.h: unix sockets as files: whether anybody listens, and which file is ours.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace tessera::kubelet {

// sun_path has 108 bytes, of which the kernel and Go want one for the terminating NUL.
inline constexpr std::size_t kMaxSocketPath = 107;

// What a socket is called until it has its name. The kubelet passes over names that begin with a dot.
inline constexpr std::string_view kHiddenPrefix = ".t";

// Whether somebody accepts connections there, without waiting. Transient "NobodyListens" when the socket is dead or
// absent: gRPC's own client would only say so after its connection backoff.
Result<void> CheckListener(const std::filesystem::path& path);

// A file by what stays the same when another takes its name. The number is not used again while the socket is open.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;

  bool operator==(const FileIdentity&) const = default;
};
// Of the socket at `path`; nothing when there is none, or something else. Links are not followed.
std::optional<FileIdentity> SocketAt(const std::filesystem::path& path);

// Unlinks `path` when it is still this socket: another instance may have taken the name.
bool UnlinkIf(const std::filesystem::path& path, const FileIdentity& identity);

}  // namespace tessera::kubelet
