// api/resource_claim.h: ResourceClaim of resource.k8s.io, the part of it that a driver acts on. The same in v1, v1beta2
// and v1beta1.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/claim_spec.h"
#include "api/node_selector.h"
#include "api/prepared_claim.h"
#include "base/error.h"
#include "base/quantity.h"
#include "json/value.h"

namespace tessera::api {

// One device that the scheduler gave to one request.
struct AllocationResult {
  std::string request;  // "main", or "main/sub" of a firstAvailable list.
  std::string driver, pool, device;
  bool admin_access = false;
  std::optional<std::string> share_id;
  std::vector<Toleration> tolerations;
  std::map<std::string, Quantity> consumed_capacity;  // With a share only.
  std::vector<std::string> binding_conditions, binding_failure_conditions;
};

// "main/sub" is "main": containers and the kubelet know only that.
std::string_view MainRequest(std::string_view request);

// An opaque config that came with the allocation. Class configs come first, then the claim's.
struct AllocationConfig {
  std::string source;                 // "FromClass" or "FromClaim".
  std::vector<std::string> requests;  // Empty: all.
  std::string driver;                 // Empty when it is not opaque.
  json::Value parameters;
};

struct Allocation {
  std::vector<AllocationResult> results;
  std::vector<AllocationConfig> configs;
  std::optional<NodeSelector> node_selector;  // Absent: usable everywhere.
};

// `status.allocation`, as the API server takes it.
json::Value ToJson(const Allocation& allocation);

struct ResourceClaim {
  ClaimRef ref;
  std::string resource_version;
  std::optional<Allocation> allocation;
  json::Value raw_allocation;             // As the server gave it; null when there is none.
  std::vector<std::string> reserved_for;  // Pods, as "namespace/name"; other consumers as "kind/name".
  json::Value raw_devices;                // status.devices, for device_status.h; null when there are none.
};

// Reads what a newer server sends as well: unknown fields are ignored. An error names the field.
Result<ResourceClaim> DecodeClaim(const json::Value& value);

}  // namespace tessera::api
