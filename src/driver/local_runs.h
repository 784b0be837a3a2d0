// driver/local_runs.h: claims that a `tessera run` holds on this machine, beside those of the kubelet.
//
// Their records are in the same journal, so that nobody gives their devices to others. The plugin leaves them alone as
// long as their run lives.
#pragma once

#include <string>

#include "api/prepared_claim.h"
#include "journal/leases.h"

namespace tessera::driver {

// Held by the run as long as it lives; the kernel drops it when it dies.
std::string RunLease(const std::string& uid);

// Makes the plan a run's. Its only CDI id is the claim's own, because the claim's file holds the driver's files too.
void GiveToRun(api::PreparedClaim& plan, const api::LocalRun& run);

// Whether the run is gone, and nothing that it started can use the devices: it had no container. One that did is for the
// next `tessera run`, which stops the container first.
bool HasEnded(const api::PreparedClaim& claim, journal::Leases& leases);

}  // namespace tessera::driver
