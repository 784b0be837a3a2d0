#include "alloc/node.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace tessera::alloc {
namespace {

using Requirement = api::NodeSelectorRequirement;

std::unexpected<Error> Bad(const Requirement& requirement, std::string_view what) {
  return BadConfig("BadNodeSelector", Format("node selector on {}: {}", Quote(requirement.key), what),
                   "correct the nodeSelector of the ResourceSlice, or ask its driver's maker");
}

Result<void> CheckExpression(const Requirement& requirement) {
  const std::size_t count = requirement.values.size();
  if (requirement.op == "In" || requirement.op == "NotIn") {
    if (count == 0) return Bad(requirement, Format("{} needs values", requirement.op));
  } else if (requirement.op == "Exists" || requirement.op == "DoesNotExist") {
    if (count != 0) return Bad(requirement, Format("{} takes no values", requirement.op));
  } else if (requirement.op == "Gt" || requirement.op == "Lt") {
    if (count != 1 || !ParseNumber<std::int64_t>(requirement.values.front())) {
      return Bad(requirement, Format("{} needs one integer", requirement.op));
    }
  } else {
    return Bad(requirement, Format("there is no operator {}", Quote(requirement.op)));
  }
  return {};
}

Result<void> CheckField(const Requirement& requirement) {
  if (requirement.op != "In" && requirement.op != "NotIn") {
    return Bad(requirement, Format("a field has no operator {}", Quote(requirement.op)));
  }
  if (requirement.values.size() != 1) return Bad(requirement, "a field needs one value");
  return {};
}

Result<void> Check(const api::NodeSelector& selector) {
  for (const api::NodeSelectorTerm& term : selector.terms) {
    for (const Requirement& requirement : term.match_expressions) TESSERA_TRY(CheckExpression(requirement));
    for (const Requirement& requirement : term.match_fields) TESSERA_TRY(CheckField(requirement));
  }
  return {};
}

bool Contains(const std::vector<std::string>& values, std::string_view value) {
  return std::ranges::find(values, value) != values.end();
}

bool HoldsForLabels(const Requirement& requirement, const Node& node) {
  const auto label = node.labels.find(requirement.key);
  const bool present = label != node.labels.end();
  if (requirement.op == "Exists") return present;
  if (requirement.op == "DoesNotExist") return !present;
  if (requirement.op == "In") return present && Contains(requirement.values, label->second);
  if (requirement.op == "NotIn") return !present || !Contains(requirement.values, label->second);
  const auto number = present ? ParseNumber<std::int64_t>(label->second) : std::nullopt;
  const auto bound = ParseNumber<std::int64_t>(requirement.values.front());
  if (!number || !bound) return false;
  return requirement.op == "Gt" ? *number > *bound : *number < *bound;
}

bool HoldsForFields(const Requirement& requirement, const Node& node) {
  const std::string_view field = requirement.key == "metadata.name" ? std::string_view(node.name) : "";
  return (requirement.values.front() == field) == (requirement.op == "In");
}

bool Holds(const api::NodeSelectorTerm& term, const Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  return std::ranges::all_of(term.match_expressions, [&](const auto& r) { return HoldsForLabels(r, node); }) &&
         std::ranges::all_of(term.match_fields, [&](const auto& r) { return HoldsForFields(r, node); });
}

}  // namespace

Result<bool> Matches(const api::NodeSelector& selector, const Node& node) {
  TESSERA_TRY(Check(selector));
  return std::ranges::any_of(selector.terms, [&](const auto& term) { return Holds(term, node); });
}

Result<bool> Reaches(const api::Reach& reach, const Node& node) {
  if (!reach.node_name.empty()) return reach.node_name == node.name;
  if (reach.all_nodes) return true;
  if (reach.node_selector) return Matches(*reach.node_selector, node);
  return false;
}

}  // namespace tessera::alloc
