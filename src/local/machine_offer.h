// local/machine_offer.h: what this machine can give right now, and the scheduler's answer for it.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "alloc/allocator.h"
#include "api/resource_slice.h"
#include "device/snapshot.h"
#include "driver/foreign_holders.h"
#include "health/report.h"
#include "journal/journal.h"

namespace tessera::local {

struct Holder {
  std::string claim;  // "default/a".
  std::string user;   // "pod default/a-0", "tessera run, process 17"; empty: unknown.
  std::vector<std::string> devices;
};

// Claims do not fit: the scheduler's words, and what it takes to explain them.
struct Refusal {
  std::string reason;  // Empty when an error stopped it, which the explanation meets again.
  alloc::Node node;    // This machine.
  std::vector<api::ResourceSlice> slices;
  std::vector<Holder> holders;
  alloc::Rules rules;
};

// The devices of a snapshot as the node would publish them, and who has which.
class MachineOffer {
 public:
  // What else is known of the devices.
  struct Known {
    std::vector<driver::ForeignHolder> foreign;
    std::vector<health::DeviceHealth> health;
    std::vector<journal::ClaimPtr> prepared;
    std::vector<Holder> holders;  // Others than of the prepared claims.
  };
  MachineOffer(const device::Snapshot& snapshot, Known known, std::string node_name);

  // One allocation a claim, or why not. AllocationUndecided: the search was given up.
  Result<std::variant<std::vector<api::Allocation>, Refusal>> Allocate(std::span<const alloc::Claim> claims,
                                                                       const alloc::Classes& classes) const;

 private:
  const std::string node_name_;
  std::vector<api::ResourceSlice> slices_;
  std::vector<Holder> holders_;
};

}  // namespace tessera::local
