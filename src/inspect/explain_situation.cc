#include "inspect/explain_situation.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tessera::inspect {
namespace {

bool Selects(const manifests::TaintRule& rule, const api::ResourceSlice& slice, const api::Device& device) {
  return (!rule.driver || *rule.driver == slice.driver) && (!rule.pool || *rule.pool == slice.pool_name) &&
         (!rule.device || *rule.device == device.name);
}

// As the scheduler's tracker does it: a rule without a selector is for every device.
std::vector<api::ResourceSlice> TaintedSlices(const manifests::Objects& objects) {
  std::vector<api::ResourceSlice> slices;
  slices.reserve(objects.slices.size());
  for (const manifests::Slice& slice : objects.slices) {
    api::ResourceSlice& added = slices.emplace_back(slice.object);
    for (api::Device& device : added.devices) {
      for (const manifests::TaintRule& rule : objects.taint_rules) {
        if (Selects(rule, added, device)) device.taints.push_back(rule.taint);
      }
    }
  }
  return slices;
}

// Without any Node object, those that slices name; their labels are unknown.
std::vector<alloc::Node> AllNodes(const manifests::Objects& objects) {
  std::vector<alloc::Node> nodes;
  for (const manifests::Node& node : objects.nodes) nodes.push_back({.name = node.name, .labels = node.labels});
  if (!nodes.empty()) return nodes;
  std::set<std::string> names;
  for (const manifests::Slice& slice : objects.slices) {
    if (!slice.object.node_name.empty()) names.insert(slice.object.node_name);
    for (const api::Device& device : slice.object.devices) {
      if (!device.reach.node_name.empty()) names.insert(device.reach.node_name);
    }
  }
  for (const std::string& name : names) nodes.push_back({.name = name, .labels = {{"kubernetes.io/hostname", name}}});
  if (nodes.empty() && !objects.slices.empty()) nodes.push_back({.name = "any-node", .labels = {}});
  return nodes;
}

bool MayRunOn(const Subject& subject, const alloc::Node& node) {
  const auto matches = [&](const api::NodeSelector& selector) {
    return alloc::Matches(selector, node).value_or(false);
  };
  if (!std::ranges::all_of(subject.reachable_from, matches)) return false;
  if (subject.pod == nullptr) return true;
  const manifests::PodSpec& spec = subject.pod->spec;
  if (!spec.node_name.empty() && spec.node_name != node.name) return false;
  if (spec.required_nodes && !matches(*spec.required_nodes)) return false;
  return std::ranges::all_of(spec.node_selector, [&](const auto& wanted) {
    const auto found = node.labels.find(wanted.first);
    return found != node.labels.end() && found->second == wanted.second;
  });
}

std::vector<Holder> Holders(const manifests::Objects& objects, const Subject& subject) {
  std::vector<Holder> holders;
  for (const manifests::Claim& claim : objects.claims) {
    const bool asks =
        std::ranges::any_of(subject.open, [&](const alloc::Claim& open) { return open.ref == claim.object.ref; });
    if (asks || !claim.object.allocation) continue;
    holders.push_back(
        {.claim = claim.object.ref, .pods = claim.object.reserved_for, .results = claim.object.allocation->results});
  }
  return holders;
}

alloc::AllocatedState Allocated(const Situation& situation) {
  alloc::AllocatedState state(situation.rules.gates);
  for (const Holder& holder : situation.holders) {
    for (const api::AllocationResult& result : holder.results) state.Add(result);
  }
  return state;
}

}  // namespace

Situation MakeSituation(const manifests::Objects& objects, const Subject& subject, const alloc::Rules& rules) {
  Situation situation{.slices = std::make_shared<const std::vector<api::ResourceSlice>>(TaintedSlices(objects)),
                      .holders = Holders(objects, subject),
                      .claims = subject.open,
                      .rules = rules};
  situation.inventory = std::make_shared<const alloc::Inventory>(*situation.slices);
  for (const manifests::DeviceClass& one : objects.classes) situation.classes.emplace(one.object.name, one.object);
  for (alloc::Node& node : AllNodes(objects)) {
    if (MayRunOn(subject, node)) situation.nodes.push_back(std::move(node));
  }
  return situation;
}

Replay::Replay(const Situation& situation, cel::SelectorCache& selectors)
    : situation_(situation),
      allocated_(Allocated(situation)),
      allocator_(*situation.inventory, allocated_, situation.classes, selectors, situation.rules) {}

Answer Replay::Ask() const {
  Answer answer;
  for (const alloc::Node& node : situation_.nodes) {
    auto outcome = allocator_.Allocate(node, situation_.claims);
    if (!outcome.has_value() && outcome.error().code() == "AllocationUndecided") {
      answer.undecided = true;
    } else if (!outcome.has_value()) {
      answer.fatal = std::move(outcome).error();
      answer.fatal_node = node.name;
      return answer;
    } else if (outcome->allocated) {
      answer.node = node.name;
      answer.allocations = std::move(outcome->allocations);
      return answer;
    }
  }
  return answer;
}

Result<alloc::Explanation> Replay::Explain(const alloc::Node& node) const {
  return allocator_.Explain(node, situation_.claims);
}

std::size_t DevicesToLookAt(const Situation& situation) {
  std::size_t count = 1;
  for (const alloc::Node& node : situation.nodes) {
    for (const std::uint32_t index : situation.inventory->ForNode(node.name, false)) {
      count += situation.inventory->Slice(index).object.devices.size();
    }
    ++count;
  }
  return count;
}

}  // namespace tessera::inspect
