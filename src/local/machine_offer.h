// local/machine_offer.h: what this machine can give right now, and the scheduler's answer for it.
#pragma once

#include <map>
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

// What somebody needs to be told why a claim does not fit.
struct Refusal {
  std::string reason;  // The scheduler's words.
  alloc::Explanation explanation;
  std::map<std::string, std::string> holders;  // By device: who has it.
};

// The devices of a snapshot as the node would publish them, and who has which.
class MachineOffer {
 public:
  // What else is known of the devices.
  struct Known {
    std::vector<driver::ForeignHolder> foreign;
    std::vector<health::DeviceHealth> health;
    std::vector<journal::ClaimPtr> prepared;
    std::map<std::string, std::string> holders;  // Other holders: by device, for people.
  };
  MachineOffer(const device::Snapshot& snapshot, Known known, std::string node_name);

  // One allocation a claim, or why not. An error is one of the claims themselves: a class that is missing, a selector
  // that does not compile.
  Result<std::variant<std::vector<api::Allocation>, Refusal>> Allocate(std::span<const alloc::Claim> claims,
                                                                       const alloc::Classes& classes) const;

 private:
  const std::string node_name_;
  std::vector<api::ResourceSlice> slices_;
  std::map<std::string, std::string> holders_;
};

}  // namespace tessera::local
