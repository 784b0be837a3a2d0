// driver/claim_source.h: what the driver asks the API server about claims. The real one is in api_objects.h, tests bring
// their own.
#pragma once

#include <chrono>
#include <cstdint>

#include "api/resource_claim.h"
#include "base/error.h"

namespace tessera::driver {

class ClaimSource {
 public:
  enum class Urgency : std::uint8_t {
    kPodWaits,    // Goes first, and transient failures are retried until the deadline.
    kOnce,        // Goes first, is tried once.
    kBackground,  // Waits its turn.
  };

  virtual ~ClaimSource() = default;
  // The claim of this name, whatever its UID. "ApiNotFound" when there is none.
  virtual Result<api::ResourceClaim> Get(const api::ClaimRef& claim, std::chrono::steady_clock::time_point deadline,
                                         Urgency urgency) = 0;
};

}  // namespace tessera::driver
