#include "inspect/explain_nodes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "alloc/checks.h"
#include "base/text.h"
#include "inspect/explain_selectors.h"

namespace tessera::inspect {
namespace {

using HolderNames = std::map<std::tuple<std::string, std::string, std::string>, std::string>;

HolderNames NamesOf(const std::vector<Holder>& holders) {
  HolderNames names;
  for (const Holder& holder : holders) {
    const std::string name = Format("{} ({})", holder.claim, holder.user.empty() ? "no pod" : holder.user);
    for (const api::AllocationResult& result : holder.results) {
      if (result.admin_access) continue;
      names.emplace(std::tuple(result.driver, result.pool, result.device), name);
    }
  }
  return names;
}

// A verdict as a reason that many devices share, and what is this device's own in it.
struct Said {
  std::string kind, text, seen;
};

class Speaker {
 public:
  Speaker(const Situation& situation, cel::SelectorCache& selectors)
      : situation_(situation), holders_(NamesOf(situation.holders)), selectors_(selectors) {}

  Said Say(const alloc::RequestVerdict& request, const alloc::DeviceVerdict& verdict) {
    switch (verdict.obstacle) {
      case alloc::Obstacle::kHeld:
        return {.kind = "held", .text = "allocated to another claim", .seen = HolderOf(verdict)};
      case alloc::Obstacle::kSelector:
        return SaySelector(request, verdict);
      case alloc::Obstacle::kFault:
        return SayFault(request, verdict);
      case alloc::Obstacle::kCapacity:
        return {.kind = "capacity", .text = "its capacity does not fit", .seen = verdict.detail};
      case alloc::Obstacle::kCounters:
        return {.kind = "counters", .text = "its pool has not enough counters left", .seen = verdict.detail};
      case alloc::Obstacle::kTaint:
        return {.kind = "taint", .text = verdict.detail, .seen = RuleBehind(request, verdict)};
      default:
        return {.kind = "attribute", .text = Format("a constraint needs an attribute: {}", verdict.detail), .seen = ""};
    }
  }

 private:
  std::string HolderOf(const alloc::DeviceVerdict& verdict) const {
    const auto found = holders_.find(std::tuple(verdict.driver, verdict.pool, verdict.device));
    return found == holders_.end() ? "" : found->second;
  }

  Said SaySelector(const alloc::RequestVerdict& request, const alloc::DeviceVerdict& verdict) {
    const FalsePart part = FindFalsePart(*request.device_class, *request.asked, *verdict.facts, selectors_);
    if (part.owner.empty()) return {.kind = "node", .text = "this node does not reach it", .seen = ""};
    return {.kind = "selector", .text = Format("{}: {} is false", part.owner, part.part), .seen = part.found};
  }

  Said SayFault(const alloc::RequestVerdict& request, const alloc::DeviceVerdict& verdict) {
    const FalsePart part = FindFalsePart(*request.device_class, *request.asked, *verdict.facts, selectors_);
    if (part.fault.empty()) return {.kind = "fault", .text = verdict.detail, .seen = ""};
    if (part.part.empty()) return {.kind = "fault", .text = Format("{} {}", part.owner, part.fault), .seen = ""};
    return {.kind = "fault", .text = Format("{}: {} fails: {}", part.owner, part.part, part.fault), .seen = ""};
  }

  // The DeviceTaintRule that the taint comes from, if any.
  std::string RuleBehind(const alloc::RequestVerdict& request, const alloc::DeviceVerdict& verdict) const {
    const api::Taint* taint = alloc::FirstUntolerated(*verdict.published, *request.asked, situation_.rules);
    for (const manifests::TaintRule& rule : situation_.taint_rules) {
      if (taint == nullptr || rule.taint != *taint) continue;
      if (Selects(rule, situation_.rules, verdict.driver, verdict.pool, verdict.device))
        return Format("DeviceTaintRule {}", rule.name);
    }
    return {};
  }

  const Situation& situation_;
  const HolderNames holders_;
  cel::SelectorCache& selectors_;
};

class ReasonList {
 public:
  void Add(const alloc::DeviceVerdict& device, Said said) {
    by_text_[{said.kind, said.text}].push_back(
        {.device = Format("{}/{}/{}", device.driver, device.pool, device.device), .seen = std::move(said.seen)});
  }

  // Those with most devices first.
  std::vector<Reason> Take() {
    std::vector<Reason> reasons;
    for (auto& [key, devices] : by_text_) reasons.emplace_back(key.first, key.second, std::move(devices));
    std::ranges::stable_sort(reasons, std::greater(), [](const Reason& reason) { return reason.devices.size(); });
    return reasons;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::vector<RuledOut>> by_text_;
};

RequestReport ReportRequest(const alloc::RequestVerdict& verdict, Speaker& speaker) {
  const bool all = verdict.asked->allocation_mode == "All";
  RequestReport report{.claim = api::ToText(verdict.claim),
                       .request = verdict.request,
                       .wanted = all ? "all" : Format("{}", verdict.asked->count),
                       .devices = verdict.devices.size(),
                       .lacking = !HasEnough(verdict)};
  ReasonList reasons;
  for (const alloc::DeviceVerdict& device : verdict.devices) {
    if (device.obstacle == alloc::Obstacle::kNone) {
      ++report.usable;
    } else {
      reasons.Add(device, speaker.Say(verdict, device));
    }
  }
  report.reasons = reasons.Take();
  return report;
}

std::vector<PoolFault> PoolFaults(const alloc::Explanation& explanation) {
  std::vector<PoolFault> faults;
  for (const alloc::PoolVerdict& pool : explanation.pools) {
    if (pool.state == alloc::PoolState::kUsable) continue;
    const bool incomplete = pool.state == alloc::PoolState::kIncomplete;
    faults.push_back({.driver = pool.driver,
                      .pool = pool.pool,
                      .state = incomplete ? "incomplete" : "invalid",
                      .reason = pool.reason});
  }
  return faults;
}

NodeGroup ReportNode(const Situation& situation, const alloc::Node& node, const Replay& replay, Speaker& speaker) {
  NodeGroup group{.nodes = {node.name}};
  const auto explanation = replay.Explain(node);
  if (!explanation.has_value()) {
    group.error = explanation.error().Text();
    return group;
  }
  group.pools = PoolFaults(*explanation);
  for (const alloc::RequestVerdict& request : explanation->requests) {
    group.requests.push_back(ReportRequest(request, speaker));
  }
  group.together = WhyNotTogether(situation, *explanation);
  return group;
}

bool HasDevices(const NodeGroup& group) {
  return std::ranges::any_of(group.requests, [](const RequestReport& request) { return request.devices > 0; });
}

// What must be the same for two nodes to be told in one breath. Holders and values may differ, and so may the names of
// pools: a node's own is named after it.
std::string LikenessOf(const NodeGroup& group) {
  std::multiset<std::string> faults;  // In one order, whatever the pools are called.
  for (const PoolFault& fault : group.pools) {
    faults.insert(Format("|{} {} {}", fault.driver, fault.state, fault.reason));
  }
  std::string likeness = group.error;
  for (const std::string& fault : faults) likeness += fault;
  for (const RequestReport& request : group.requests) {
    likeness += Format("|{} {} {}/{}", request.claim, request.request, request.usable, request.devices);
    for (const Reason& reason : request.reasons) {
      likeness += Format("|{} {} {}", reason.kind, reason.text, reason.devices.size());
    }
  }
  for (const Conflict& conflict : group.together) likeness += "|" + conflict.likeness;
  return likeness;
}

void Merge(NodeGroup& into, const NodeGroup& from) {
  into.nodes.push_back(from.nodes.front());
  for (const PoolFault& fault : from.pools) {
    // Nodes can share a pool.
    if (std::ranges::find(into.pools, fault) == into.pools.end()) into.pools.push_back(fault);
  }
  for (std::size_t r = 0; r < into.requests.size(); ++r) {
    for (std::size_t i = 0; i < into.requests[r].reasons.size(); ++i) {
      const std::vector<RuledOut>& more = from.requests[r].reasons[i].devices;
      std::vector<RuledOut>& devices = into.requests[r].reasons[i].devices;
      devices.insert(devices.end(), more.begin(), more.end());
    }
  }
}

std::vector<NodeGroup> GroupBarred(const Situation& situation) {
  std::map<std::vector<std::string>, std::vector<std::string>> by_bars;
  for (const BarredNode& barred : situation.barred) {
    std::vector<std::string> bars;
    for (const Bar& bar : barred.by) bars.push_back(bar.text);
    by_bars[bars].push_back(barred.node.name);
  }
  std::vector<NodeGroup> groups;
  for (const auto& [bars, nodes] : by_bars) groups.push_back({.nodes = nodes, .bars = bars});
  return groups;
}

}  // namespace

std::vector<NodeGroup> GroupNodes(const Situation& situation, cel::SelectorCache& selectors) {
  const Replay replay(situation, selectors);
  Speaker speaker(situation, selectors);
  std::vector<NodeGroup> groups;
  std::map<std::string, std::size_t> known;
  for (const alloc::Node& node : situation.nodes) {
    NodeGroup report = ReportNode(situation, node, replay, speaker);
    const auto [place, added] = known.emplace(LikenessOf(report), groups.size());
    if (added) {
      groups.push_back(std::move(report));
    } else {
      Merge(groups[place->second], report);
    }
  }
  const auto size = [](const NodeGroup& group) { return group.nodes.size(); };
  std::ranges::stable_sort(groups, std::greater(), size);
  std::ranges::stable_partition(groups, HasDevices);
  std::vector<NodeGroup> barred = GroupBarred(situation);
  std::ranges::stable_sort(barred, std::greater(), size);
  groups.insert(groups.end(), std::make_move_iterator(barred.begin()), std::make_move_iterator(barred.end()));
  return groups;
}

}  // namespace tessera::inspect
