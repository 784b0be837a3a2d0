// cdi/writer.h: puts CDI specs where container runtimes look for them.
#pragma once

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

// Files in one CDI directory, named as the Go driver names them. Safe to call from any thread. The directory is made
// when it is missing, each time: it lives on tmpfs, and people empty it.
class Writer {
 public:
  explicit Writer(std::filesystem::path directory);

  // Replaces the claim's spec by rename: a reader sees the old file or the new. `comment` is kept for ReadClaims().
  Result<void> PutClaim(const std::string& uid, const Spec& spec, std::string_view comment);
  // Succeeds when there is nothing to remove: the kubelet repeats Unprepare.
  Result<void> RemoveClaim(const std::string& uid);
  // Whether the file is there and holds exactly this. Cheap: asked at each repeated Prepare.
  bool HoldsClaim(const std::string& uid, const Spec& spec, std::string_view comment) const;

  Result<void> PutBase(const Spec& spec);
  bool HoldsBase(const Spec& spec) const;  // Cheap when asked for the same spec again: at each Prepare.

  // Whether there is a file for the claim, whatever it holds.
  bool HasClaim(const std::string& uid) const;

  // Claim files found, also those of the Go driver. Files of others (compute-domain.nvidia.com) are left alone;
  // temporary files of writers that died are removed, here and in ListClaims().
  struct ClaimFile {
    std::string uid;
    std::string comment;       // What PutClaim() was given; empty in files of the Go driver.
    std::optional<Spec> spec;  // Nothing when it cannot be read.
  };
  Result<std::vector<ClaimFile>> ReadClaims() const;
  Result<std::vector<std::string>> ListClaims() const;  // UIDs only: names of files, nothing is opened.

 private:
  // The base file's text. It is long, and its spec changes only with the driver.
  std::shared_ptr<const std::string> BaseText(const Spec& spec) const;

  const std::filesystem::path directory_;
  mutable std::mutex mutex_;  // Guards everything below.
  mutable std::optional<Spec> base_;
  mutable std::shared_ptr<const std::string> base_text_;
};

}  // namespace tessera::cdi
