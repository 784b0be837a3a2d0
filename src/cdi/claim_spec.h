// cdi/claim_spec.h: the small spec of one claim: its device nodes and nothing else.
#pragma once

#include "api/prepared_claim.h"
#include "cdi/driver_files.h"
#include "cdi/graphics.h"
#include "cdi/spec.h"

namespace tessera::cdi {

// Device nodes (GPU, DRM, MIG capabilities) of every device of the claim. Needs no NVML: minors come from the claim,
// capability minors from procfs. An error names the device and what is missing.
Result<Spec> MakeClaimSpec(const Roots& roots, const Graphics& graphics, const api::PreparedClaim& claim);

// "<uid>-<device>": one unique name a device and share, the first CDI id of each. Two results on one device in a claim
// (shares) get the share id behind it.
std::string ClaimDeviceName(const api::ClaimRef& claim, const api::PreparedDevice& device);

// The ids for the kubelet: the claim's own first, then the base spec's.
std::vector<std::string> CdiIds(const api::ClaimRef& claim, const api::PreparedDevice& device);

}  // namespace tessera::cdi
