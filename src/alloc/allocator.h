// alloc/allocator.h: which devices kube-scheduler would give to claims on a node, or that it would not. Start here.
//
//   const alloc::Inventory inventory(slices);
//   alloc::Allocator allocator(inventory, allocated, classes, selectors, alloc::RulesFor(cel::Release::k1_37));
//   TESSERA_ASSIGN(const alloc::Outcome outcome, allocator.Allocate(node, claims));
//
// The rules are those of k8s.io/dynamic-resource-allocation/structured (rules.h says of which releases), to the order in
// which devices are tried: the first solution is the answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "alloc/allocated_state.h"
#include "alloc/inventory.h"
#include "alloc/node.h"
#include "alloc/node_pools.h"
#include "alloc/plan.h"
#include "alloc/results.h"
#include "alloc/rules.h"
#include "alloc/search.h"
#include "api/resource_claim.h"
#include "base/error.h"
#include "cel/selector_cache.h"

namespace tessera::alloc {

struct Outcome {
  bool allocated = false;
  std::vector<api::Allocation> allocations;  // One a claim, in their order, when allocated.
  // "cannot allocate all claims", or "invalid resource pools were encountered", when not: the scheduler's words. Another
  // node may still do.
  std::string reason;
  std::uint64_t steps = 0;  // How often a device was looked for.
};

// Why a device cannot serve a request, whatever else is chosen.
struct DeviceVerdict {
  std::string driver, pool, device;
  Obstacle obstacle = Obstacle::kNone;
  std::string detail;
  const api::Device* published = nullptr;  // These two in the inventory.
  const cel::DeviceFacts* facts = nullptr;
};

// One request, or one of its alternatives.
struct RequestVerdict {
  api::ClaimRef claim;
  std::string request;                        // "main" or "main/sub".
  std::vector<DeviceVerdict> devices;         // In the order in which they are tried.
  const api::DeviceRequest* asked = nullptr;  // In the claims and classes that the allocator was given.
  const api::DeviceClass* device_class = nullptr;
};

struct PoolVerdict {
  std::string driver, pool;
  PoolState state = PoolState::kUsable;
  std::string reason;
  std::vector<PoolCounter> counters;  // What allocated claims leave of them; views into the inventory.
};

struct Explanation {
  std::vector<PoolVerdict> pools;
  std::vector<RequestVerdict> requests;
};

// Claims, checked and compiled once, that can be asked of any number of nodes. Safe from any thread.
class Question {
 private:
  friend class Allocator;
  explicit Question(std::span<const Claim> claims) : claims_(claims) {}

  const std::span<const Claim> claims_;
  HeldDevices held_ = HeldDevices::kLeftOut;
  std::optional<Result<Plan>> plan_;  // Unless it depends on the node.
};

// Everything it is given must outlive it and stay as it is. Safe from any thread. Pools are put together when it is made,
// which looks at every device: make one for many questions.
class Allocator {
 public:
  Allocator(const Inventory& inventory, const AllocatedState& allocated, const Classes& classes,
            cel::SelectorCache& selectors, const Rules& rules, NewShareId new_share_id = {});

  // All claims of a pod that have no allocation yet, in the pod's order; all or nothing. An error is one that stops the
  // scheduler, whatever other nodes have (its text is the message), or AllocationUndecided.
  Result<Outcome> Allocate(const Node& node, std::span<const Claim> claims, const SearchLimits& limits = {}) const;

  // The same for many nodes: what is no node's is done once. Claims and allocator must outlive the question.
  Question Prepare(std::span<const Claim> claims) const;
  Result<Outcome> Allocate(const Node& node, const Question& question, const SearchLimits& limits = {}) const;

  // Each device's first obstacle for each request. Nothing of it happens during Allocate().
  Result<Explanation> Explain(const Node& node, std::span<const Claim> claims) const;

 private:
  Result<Plan> PlanFor(std::span<const Claim> claims, const PoolSet& pools, const Node& node) const;
  Result<Outcome> Solve(const PoolSet& pools, const Node& node, const Plan& plan, const SearchLimits& limits) const;

  const Classes& classes_;
  cel::SelectorCache& selectors_;
  const Rules rules_;
  const NodePools pools_;
  const NewShareId new_share_id_;
};

}  // namespace tessera::alloc
