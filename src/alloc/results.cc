#include "alloc/results.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tessera::alloc {
namespace {

api::AllocationResult ResultOf(const Problem& problem, const Choice& choice, const NewShareId& new_share_id) {
  const Option& option = problem.plan.options[choice.option];
  const Candidate& candidate = problem.pools.devices[choice.device];
  api::AllocationResult result{.request = option.full_name,
                               .driver = candidate.slice->driver,
                               .pool = candidate.slice->pool_name,
                               .device = candidate.device->name,
                               .admin_access = option.admin,
                               .tolerations = option.request->tolerations,
                               .consumed_capacity = choice.consumed};
  if (choice.share) result.share_id = new_share_id();
  if (problem.rules.gates.binding_conditions) {
    result.binding_conditions = candidate.device->binding_conditions;
    result.binding_failure_conditions = candidate.device->binding_failure_conditions;
  }
  return result;
}

// The configs of one claim: those of the classes, then its own.
class Configs {
 public:
  Configs(const Problem& problem, const PlannedClaim& claim, const std::vector<std::uint32_t>& selected)
      : problem_(problem), claim_(claim), selected_(selected) {}

  std::vector<api::AllocationConfig> Make() {
    AddClasses();
    for (const api::RequestConfig& config : claim_.claim->spec.configs) AddOwn(config);
    if (problem_.rules.merges_configs) ShortenRequests();
    return std::move(out_);
  }

 private:
  const Option& Selected(std::size_t request) const { return problem_.plan.options[selected_[request]]; }
  const std::string& MainName(std::size_t request) const { return claim_.claim->spec.requests[request].name; }

  // A class that several requests name has its configs once.
  void AddClasses() {
    std::map<std::string_view, std::pair<std::size_t, std::size_t>> ranges;
    for (std::size_t request = 0; request < selected_.size(); ++request) {
      const Option& option = Selected(request);
      const auto [range, added] = ranges.try_emplace(option.device_class->name, out_.size(), out_.size());
      if (added) {
        for (const api::RequestConfig& config : option.device_class->configs) Push("FromClass", {}, config);
        range->second.second = out_.size();
      }
      for (std::size_t i = range->second.first; i < range->second.second; ++i) {
        out_[i].requests.push_back(option.full_name);
      }
    }
  }

  // Not for sub-requests that were not selected. Before 1.37 once for each request that it names.
  void AddOwn(const api::RequestConfig& config) {
    if (config.requests.empty()) return Push("FromClaim", {}, config);
    for (std::size_t request = 0; request < selected_.size(); ++request) {
      if (!Names(config.requests, request)) continue;
      Push("FromClaim", config.requests, config);
      if (problem_.rules.merges_configs) return;
    }
  }

  bool Names(const std::vector<std::string>& names, std::size_t request) const {
    const bool prioritized = claim_.requests[request].prioritized;
    return std::ranges::any_of(names, [&](const std::string& name) {
      return name == MainName(request) || (prioritized && name == Selected(request).full_name);
    });
  }

  // "Empty means all."
  void ShortenRequests() {
    for (api::AllocationConfig& config : out_) {
      bool all = true;
      for (std::size_t request = 0; request < selected_.size(); ++request) all = all && Names(config.requests, request);
      if (all) config.requests.clear();
    }
  }

  void Push(std::string_view source, std::vector<std::string> requests, const api::RequestConfig& config) {
    out_.push_back({.source = std::string(source),
                    .requests = std::move(requests),
                    .driver = config.driver,
                    .parameters = config.parameters});
  }

  const Problem& problem_;
  const PlannedClaim& claim_;
  const std::vector<std::uint32_t>& selected_;
  std::vector<api::AllocationConfig> out_;
};

bool SameRequirement(const api::NodeSelectorRequirement& a, const api::NodeSelectorRequirement& b) {
  return a.key == b.key && a.op == b.op &&
         std::set(a.values.begin(), a.values.end()) == std::set(b.values.begin(), b.values.end());
}

void AddRequirements(const std::vector<api::NodeSelectorRequirement>& from,
                     std::vector<api::NodeSelectorRequirement>& to) {
  for (const auto& requirement : from) {
    if (std::ranges::none_of(to, [&](const auto& known) { return SameRequirement(known, requirement); })) {
      to.push_back(requirement);
    }
  }
}

api::NodeSelector OnlyOn(const Node& node) {
  return {.terms = {{.match_fields = {{.key = "metadata.name", .op = "In", .values = {node.name}}}}}};
}

// Where the devices can be used. Nothing: everywhere.
Result<std::optional<api::NodeSelector>> NodesFor(const Problem& problem, const std::vector<Choice>& choices,
                                                  const Node& node) {
  api::NodeSelectorTerm term;
  for (const Choice& choice : choices) {
    const Candidate& candidate = problem.pools.devices[choice.device];
    const bool by_device = candidate.slice->per_device_node_selection;
    const auto& name = by_device ? candidate.device->reach.node_name : candidate.slice->node_name;
    const auto& selector = by_device ? candidate.device->reach.node_selector : candidate.slice->node_selector;
    if (!name.empty() || candidate.device->binds_to_node) return OnlyOn(node);
    if (!selector || selector->terms.empty()) continue;
    if (selector->terms.size() > 1) {
      return BadConfig("BadNodeSelector",
                       Format("unsupported ResourceSlice.NodeSelector with {} terms", selector->terms.size()),
                       "correct the nodeSelector of the ResourceSlice, or ask its driver's maker");
    }
    AddRequirements(selector->terms.front().match_fields, term.match_fields);
    AddRequirements(selector->terms.front().match_expressions, term.match_expressions);
  }
  if (term.match_fields.empty() && term.match_expressions.empty()) return std::nullopt;
  return api::NodeSelector{.terms = {std::move(term)}};
}

}  // namespace

Result<std::vector<api::Allocation>> MakeResults(const Problem& problem, const Search& search, const Node& node,
                                                 const NewShareId& new_share_id) {
  std::vector<api::Allocation> allocations;
  for (std::size_t claim = 0; claim < problem.plan.claims.size(); ++claim) {
    const auto& choices = search.choices()[claim];
    api::Allocation& allocation = allocations.emplace_back();
    for (const Choice& choice : choices) allocation.results.push_back(ResultOf(problem, choice, new_share_id));
    allocation.configs = Configs(problem, problem.plan.claims[claim], search.selected()[claim]).Make();
    auto nodes = NodesFor(problem, choices, node);
    if (!nodes) {
      const std::string& name = problem.plan.claims[claim].claim->ref.name;
      return std::unexpected(std::move(nodes).error().Wrap(Format("create NodeSelector for claim {}", name)));
    }
    allocation.node_selector = *std::move(nodes);
  }
  return allocations;
}

}  // namespace tessera::alloc
