// inspect/explain_situation.h: what kube-scheduler would be asked, as plain data that can be changed and asked again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/allocator.h"
#include "api/resource_claim.h"
#include "base/error.h"
#include "cel/selector_cache.h"
#include "inspect/explain_subject.h"
#include "manifests/objects.h"

namespace tessera::inspect {

// A claim that holds devices.
struct Holder {
  api::ClaimRef claim;
  std::vector<std::string> pods;  // For which it is reserved.
  std::vector<api::AllocationResult> results;
};

struct Situation {
  std::shared_ptr<const alloc::Inventory> inventory;
  std::shared_ptr<const std::vector<api::ResourceSlice>> slices;  // Those of the inventory.
  std::vector<Holder> holders;
  alloc::Classes classes;
  std::vector<alloc::Claim> claims;
  std::vector<alloc::Node> nodes;  // On which the pod may run, as far as labels decide.
  alloc::Rules rules;
};

// Of what is known. DeviceTaintRules become taints of the devices they select.
Situation MakeSituation(const manifests::Objects& objects, const Subject& subject, const alloc::Rules& rules);

// Where everything fits.
struct Answer {
  std::optional<std::string> node;
  std::vector<api::Allocation> allocations;  // There.
  std::optional<Error> fatal;                // Stops the scheduler, whatever other nodes have …
  std::string fatal_node;                    // … and where it was met.
  bool undecided = false;                    // On some node the search was given up.
};

// Asks the allocator. The situation and the selectors, which must be of its release, outlive it.
class Replay {
 public:
  Replay(const Situation& situation, cel::SelectorCache& selectors);

  // Goes through the nodes, in their order, until everything fits on one.
  Answer Ask() const;

  // Each device's first obstacle on one node.
  Result<alloc::Explanation> Explain(const alloc::Node& node) const;

 private:
  const Situation& situation_;
  const alloc::AllocatedState allocated_;
  const alloc::Allocator allocator_;
};

// How many devices Ask() looks at, at most: the price of asking.
std::size_t DevicesToLookAt(const Situation& situation);

}  // namespace tessera::inspect
