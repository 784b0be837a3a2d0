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
  std::string claim;  // "default/a".
  std::string user;   // "pod default/a-0", "tessera run, process 17"; empty: nobody.
  std::vector<api::AllocationResult> results;
};

// What keeps a pod from a node, whatever its devices are.
struct Bar {
  std::string text;    // "nodeSelector zone=west".
  std::string remedy;  // "drop nodeSelector zone=west from the pod"; empty: it cannot be lifted.

  bool operator==(const Bar&) const = default;
};

struct BarredNode {
  alloc::Node node;
  std::vector<Bar> by;
};

struct Situation {
  std::shared_ptr<const alloc::Inventory> inventory;
  std::shared_ptr<const std::vector<api::ResourceSlice>> slices;  // Those of the inventory.
  std::vector<Holder> holders;
  alloc::Classes classes;
  std::vector<alloc::Claim> claims;
  std::vector<alloc::Node> nodes;                 // On which the pod may run, as far as labels and taints decide.
  std::vector<BarredNode> barred;                 // The others.
  std::vector<manifests::TaintRule> taint_rules;  // Their taints are in the slices already.
  alloc::Rules rules;
};

// Whether an administrator's rule taints the device.
bool Selects(const manifests::TaintRule& rule, const alloc::Rules& rules, std::string_view driver,
             std::string_view pool, std::string_view device);

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

// How many devices Ask() looks at, at most, and how many are held: the price of asking.
std::size_t DevicesToLookAt(const Situation& situation);

}  // namespace tessera::inspect
