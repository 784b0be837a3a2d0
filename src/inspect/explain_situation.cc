#include "inspect/explain_situation.h"

#include <algorithm>
#include <set>

#include "alloc/checks.h"
#include "base/text.h"

namespace tessera::inspect {
namespace {

// As the scheduler's tracker does it.
std::vector<api::ResourceSlice> TaintedSlices(const manifests::Objects& objects, const alloc::Rules& rules) {
  std::vector<api::ResourceSlice> slices;
  slices.reserve(objects.slices.size());
  for (const manifests::Slice& slice : objects.slices) {
    api::ResourceSlice& added = slices.emplace_back(slice.object);
    for (api::Device& device : added.devices) {
      for (const manifests::TaintRule& rule : objects.taint_rules) {
        if (Selects(rule, rules, added.driver, added.pool_name, device.name)) device.taints.push_back(rule.taint);
      }
    }
  }
  return slices;
}

// Without any Node object, those that slices name; their labels are unknown.
std::vector<manifests::Node> AllNodes(const manifests::Objects& objects) {
  if (!objects.nodes.empty()) return objects.nodes;
  std::set<std::string> names;
  for (const manifests::Slice& slice : objects.slices) {
    if (!slice.object.node_name.empty()) names.insert(slice.object.node_name);
    for (const api::Device& device : slice.object.devices) {
      if (!device.reach.node_name.empty()) names.insert(device.reach.node_name);
    }
  }
  std::vector<manifests::Node> nodes;
  for (const std::string& name : names) {
    nodes.push_back({.origin = {}, .name = name, .labels = {{"kubernetes.io/hostname", name}}});
  }
  if (nodes.empty() && !objects.slices.empty()) nodes.push_back({.origin = {}, .name = "any-node"});
  return nodes;
}

void AddBarsOfPod(const manifests::PodSpec& spec, const manifests::Node& node, std::vector<Bar>& bars) {
  if (!spec.node_name.empty() && spec.node_name != node.name)
    bars.push_back({Format("nodeName {}", spec.node_name), ""});
  for (const auto& [key, value] : spec.node_selector) {
    const auto found = node.labels.find(key);
    if (found != node.labels.end() && found->second == value) continue;
    const std::string text = Format("nodeSelector {}={}", key, value);
    bars.push_back({text, Format("drop {} from the pod", text)});
  }
  const alloc::Node plain{.name = node.name, .labels = node.labels};
  if (spec.required_nodes && !alloc::Matches(*spec.required_nodes, plain).value_or(false)) {
    bars.push_back({"the required node affinity", "drop the required node affinity from the pod"});
  }
  for (const api::Taint& taint : node.taints) {
    const auto tolerates = [&](const api::Toleration& toleration) { return alloc::Tolerates(toleration, taint); };
    if (taint.effect == "PreferNoSchedule" || std::ranges::any_of(spec.tolerations, tolerates)) continue;
    const std::string text = Format("the node's taint {}", api::ToText(taint));
    bars.push_back({text, Format("lift {}, or tolerate it in the pod", text)});
  }
}

// What keeps the pod from the node, whatever devices it has.
std::vector<Bar> BarsOf(const Subject& subject, const manifests::Node& node) {
  std::vector<Bar> bars;
  const alloc::Node plain{.name = node.name, .labels = node.labels};
  for (const AllocatedElsewhere& allocated : subject.reachable_from) {
    if (alloc::Matches(allocated.nodes, plain).value_or(false)) continue;
    bars.push_back({Format("claim {} has devices on other nodes", allocated.claim), ""});
  }
  if (subject.pod != nullptr) AddBarsOfPod(subject.pod->spec, node, bars);
  return bars;
}

std::vector<Holder> Holders(const manifests::Objects& objects, const Subject& subject) {
  std::vector<Holder> holders;
  for (const manifests::Claim& claim : objects.claims) {
    const bool asks =
        std::ranges::any_of(subject.open, [&](const alloc::Claim& open) { return open.ref == claim.object.ref; });
    if (asks || !claim.object.allocation) continue;
    const auto& pods = claim.object.reserved_for;
    holders.push_back({.claim = api::ToText(claim.object.ref),
                       .user = pods.empty() ? "" : Format("pod {}", Join(pods, ", ")),
                       .results = claim.object.allocation->results});
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

bool Selects(const manifests::TaintRule& rule, const alloc::Rules& rules, std::string_view driver,
             std::string_view pool, std::string_view device) {
  if (!rule.has_selector) return rules.rule_without_selector_taints_all;
  return (!rule.driver || *rule.driver == driver) && (!rule.pool || *rule.pool == pool) &&
         (!rule.device || *rule.device == device);
}

Situation MakeSituation(const manifests::Objects& objects, const Subject& subject, const alloc::Rules& rules) {
  Situation situation{.slices = std::make_shared<const std::vector<api::ResourceSlice>>(TaintedSlices(objects, rules)),
                      .holders = Holders(objects, subject),
                      .claims = subject.open,
                      .taint_rules = objects.taint_rules,
                      .rules = rules};
  situation.inventory = std::make_shared<const alloc::Inventory>(*situation.slices);
  for (const manifests::DeviceClass& one : objects.classes) situation.classes.emplace(one.object.name, one.object);
  for (manifests::Node& node : AllNodes(objects)) {
    std::vector<Bar> bars = BarsOf(subject, node);
    alloc::Node plain{.name = std::move(node.name), .labels = std::move(node.labels)};
    if (bars.empty()) {
      situation.nodes.push_back(std::move(plain));
    } else {
      situation.barred.push_back({.node = std::move(plain), .by = std::move(bars)});
    }
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
  for (const Holder& holder : situation.holders) count += holder.results.size();
  for (const alloc::Node& node : situation.nodes) {
    for (const std::uint32_t index : situation.inventory->ForNode(node.name, false)) {
      count += situation.inventory->Slice(index).object.devices.size();
    }
    ++count;
  }
  return count;
}

}  // namespace tessera::inspect
