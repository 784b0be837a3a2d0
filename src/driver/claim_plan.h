// driver/claim_plan.h: what preparing a claim would do, decided and checked before anything is touched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/prepared_claim.h"
#include "api/resource_claim.h"
#include "base/error.h"
#include "driver/hardware.h"

namespace tessera::driver {

// All faults of the claim are in the one error: a person corrects them in one go. `boot_id` goes into the record.
//
// Codes: "NotAllocated", "NothingForUs", "WrongPool", "DeviceNotFound", "DeviceWithheld", "BadDeviceConfig",
// "ConfigKindMismatch", "ConfigNotServed". Only "DeviceNotFound" may go away with a rescan.
Result<api::PreparedClaim> PlanClaim(const api::ResourceClaim& claim, const HardwareState& hardware,
                                     std::string_view node_name, const std::string& boot_id);

// Another claim's device in the way of one of this plan.
struct Conflict {
  std::string device;  // Ours.
  std::shared_ptr<const api::PreparedClaim> other;
  std::string other_device;
};
// Admin access is no use of a device, on either side; shares of one device are told apart by their share id.
std::vector<Conflict> FindConflicts(const api::PreparedClaim& plan,
                                    const std::vector<std::shared_ptr<const api::PreparedClaim>>& others);

// "gpu-0 is prepared for claim ml/train (pod ml/train-0)": for messages.
std::string ToText(const Conflict& conflict);

// The GPUs a claim uses, each once, in a fixed order. Admin access is no use.
std::vector<std::string> GpusOf(const api::PreparedClaim& claim);

}  // namespace tessera::driver
