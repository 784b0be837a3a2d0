#include "driver/local_runs.h"

namespace tessera::driver {

std::string RunLease(const std::string& uid) { return "run/" + uid; }

void GiveToRun(api::PreparedClaim& plan, const api::LocalRun& run) {
  plan.run = run;
  for (api::PreparedDevice& device : plan.devices) device.cdi_ids.resize(1);
}

bool HasEnded(const api::PreparedClaim& claim, journal::Leases& leases) {
  return claim.run && claim.run->container.empty() && !leases.IsHeld(RunLease(claim.claim.uid)).value_or(true);
}

}  // namespace tessera::driver
