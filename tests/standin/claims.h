// tests/standin/claims.h: allocated ResourceClaims, as the scheduler leaves them.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace tessera::standin {

struct ClaimDevice {
  std::string request = "gpu";  // "main", or "main/sub" of a firstAvailable request.
  std::string driver = "gpu.nvidia.com";
  std::string pool, device;
  bool admin_access = false;
  std::string share_id = {};
};

struct ClaimConfig {
  json::Value parameters;  // Of `opaque`, with kind and apiVersion.
  std::string driver = "gpu.nvidia.com";
  std::string source = "FromClaim";  // Or "FromClass".
  std::vector<std::string> requests = {};
};

struct ClaimOptions {
  std::string ns = "default";
  std::string name;
  std::vector<ClaimDevice> devices = {};  // None: the claim is not allocated.
  std::vector<ClaimConfig> configs = {};
  std::string pod = {};      // Reserved for it, when given.
  std::string pod_uid = {};  // Made up when empty.
  std::string node = {};     // The allocation's node selector, when given.
};

// The claim in the shape of v1, with spec and status; the server adds UID and version.
json::Value BuildClaim(const ClaimOptions& options);

}  // namespace tessera::standin
