// cdi/writer.h: puts CDI specs where container runtimes look for them.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/prepared_claim.h"
#include "cdi/spec.h"

namespace tessera::cdi {

inline constexpr std::string_view kVendor = "k8s.gpu.nvidia.com";
inline constexpr std::string_view kClaimKind = "k8s.gpu.nvidia.com/claim";
inline constexpr std::string_view kBaseKind = "k8s.gpu.nvidia.com/base";
inline constexpr std::string_view kBaseDevice = "driver";
inline constexpr std::string_view kNodeDeviceKind = "k8s.gpu.nvidia.com/device";

// Files in one CDI directory, named as the Go driver names them. Safe to call from any thread. The directory is made
// when it is missing, each time: it lives on tmpfs, and people empty it.
class Writer {
 public:
  explicit Writer(std::filesystem::path directory);

  // Sees to it that the claim's file holds exactly this; true when it had to be written. It is replaced by rename: a
  // reader sees the old file or the new. `comment` is kept for ReadClaims().
  Result<bool> EnsureClaim(const std::string& uid, const Spec& spec, std::string_view comment);
  // Succeeds when there is nothing to remove: the kubelet repeats Unprepare.
  Result<void> RemoveClaim(const std::string& uid);

  // The same for the base file. Cheap when asked for the same object again: at each Prepare.
  Result<bool> EnsureBase(const std::shared_ptr<const Spec>& spec);

  // Up to v25.8.1 the Go driver had its devices in one file for the node. Containers that it prepared name them, beside
  // their claim's, to the end. Whether that file has all of these; false when there is none.
  bool HasNodeDevices(const std::vector<std::string>& names) const;
  // Adds those that are missing, empty: what they gave a container is then in its claim's own file. True when it had to
  // be written. Two calls at a time may lose what one of them added; the next call adds it again.
  Result<bool> EnsureNodeDevices(const std::vector<std::string>& names);

  // Whether there is a file for the claim, whatever it holds.
  bool HasClaim(const std::string& uid) const;

  // Claim files found, also those of the Go driver. Files of others (compute-domain.nvidia.com) are left alone;
  // temporary files of writers that died are removed, here and in ListClaims().
  struct ClaimFile {
    std::string uid;
    std::string comment;       // What EnsureClaim() was given; empty in files of the Go driver.
    std::optional<Spec> spec;  // Nothing when it cannot be read.
  };
  Result<std::vector<ClaimFile>> ReadClaims() const;
  Result<std::vector<std::string>> ListClaims() const;  // UIDs only: names of files, nothing is opened.

 private:
  // What tells a file that was read and found right from one that was touched since.
  struct Seen {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec changed{};
    bool operator==(const Seen& other) const {
      return device == other.device && inode == other.inode && size == other.size &&
             changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
    }
  };
  std::optional<Seen> LookAtBase() const;

  const std::filesystem::path directory_, base_path_;
  std::mutex mutex_;  // Guards everything below.
  std::shared_ptr<const Spec> base_;
  std::shared_ptr<const std::string> base_text_;  // It is long, and its spec changes only with the driver.
  std::optional<Seen> base_seen_;
};

}  // namespace tessera::cdi
