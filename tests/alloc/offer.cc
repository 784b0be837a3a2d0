#include "tests/alloc/offer.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tessera::tests {
namespace {

bool Holds(const api::NodeSelectorRequirement& requirement, const std::string* found) {
  const bool in = found != nullptr && std::ranges::find(requirement.values, *found) != requirement.values.end();
  if (requirement.op == "In") return in;
  if (requirement.op == "NotIn") return !in;
  Abort(Format("the checker does not know the operator {}", requirement.op));
}

const std::string* LabelOf(const alloc::Node& node, const std::string& key) {
  const auto label = node.labels.find(key);
  return label == node.labels.end() ? nullptr : &label->second;
}

bool ReachesSlice(const api::ResourceSlice& slice, const alloc::Node& node) {
  return std::ranges::any_of(slice.devices, [&](const api::Device& d) { return Reaches(slice, d, node); }) ||
         (slice.devices.empty() && Reaches(slice, {}, node));
}

std::optional<Quantity> RoundUp(const Quantity& wanted, const api::CapacityPolicy::Range& range) {
  Quantity amount = range.min && wanted < *range.min ? *range.min : wanted;
  if (range.min && range.step) {
    const std::int64_t above = amount.Value() - range.min->Value();
    const std::int64_t step = range.step->Value();
    amount = Quantity::FromBytes(range.min->Value() + (above + step - 1) / step * step);
  }
  if (range.max && amount > *range.max) return std::nullopt;
  return amount;
}

std::optional<Quantity> Allowed(const Quantity& wanted, const api::CapacityPolicy& policy) {
  if (policy.valid_range) return RoundUp(wanted, *policy.valid_range);
  if (policy.valid_values.empty()) return wanted;
  const auto enough = std::ranges::find_if(policy.valid_values, [&](const Quantity& v) { return v >= wanted; });
  return enough == policy.valid_values.end() ? std::nullopt : std::optional(*enough);
}

}  // namespace

bool Selects(const api::NodeSelector& selector, const alloc::Node& node) {
  return std::ranges::any_of(selector.terms, [&](const api::NodeSelectorTerm& term) {
    const auto by_label = [&](const auto& r) { return Holds(r, LabelOf(node, r.key)); };
    const auto by_name = [&](const auto& r) { return r.key == "metadata.name" && Holds(r, &node.name); };
    return std::ranges::all_of(term.match_expressions, by_label) && std::ranges::all_of(term.match_fields, by_name);
  });
}

bool Reaches(const api::ResourceSlice& slice, const api::Device& device, const alloc::Node& node) {
  const api::Reach whole{
      .node_name = slice.node_name, .all_nodes = slice.all_nodes, .node_selector = slice.node_selector};
  const api::Reach& reach = slice.per_device_node_selection ? device.reach : whole;
  return reach.all_nodes || reach.node_name == node.name ||
         (reach.node_selector && Selects(*reach.node_selector, node));
}

PoolFault PoolFaultOf(const AllocationProblem& problem, const api::ResourceSlice& slice) {
  std::int64_t present = 0;
  std::set<std::int64_t> promised;  // Slices may disagree; who is right cannot be told.
  for (const api::ResourceSlice& other : problem.slices) {
    if (other.driver != slice.driver || other.pool_name != slice.pool_name) continue;
    if (other.pool_generation > slice.pool_generation && ReachesSlice(other, problem.node)) {
      return PoolFault::kOldGeneration;
    }
    if (other.pool_generation != slice.pool_generation) continue;
    ++present;
    promised.insert(other.pool_slice_count);
  }
  return promised.contains(present) ? PoolFault::kNone : PoolFault::kIncomplete;
}

std::optional<Quantity> AmountFor(const api::DeviceRequest& request, const api::Device& device,
                                  const std::string& capacity) {
  const auto policy = device.capacity_policies.find(capacity);
  const bool has_policy = policy != device.capacity_policies.end();
  if (!request.capacity || !request.capacity->contains(capacity)) {
    return has_policy && policy->second.default_value ? *policy->second.default_value : device.capacity.at(capacity);
  }
  const Quantity& wanted = request.capacity->at(capacity);
  return has_policy ? Allowed(wanted, policy->second) : wanted;
}

bool HasAmounts(const api::DeviceRequest& request, const api::Device& device) {
  const auto enough = [&](const auto& capacity) {
    const auto amount = AmountFor(request, device, capacity.first);
    return amount && *amount <= capacity.second;
  };
  const auto known = [&](const auto& wanted) { return device.capacity.contains(wanted.first); };
  return std::ranges::all_of(device.capacity, enough) &&
         (!request.capacity || std::ranges::all_of(*request.capacity, known));
}

}  // namespace tessera::tests
