#include "alloc/device_filter.h"

#include "base/text.h"

namespace tessera::alloc {
namespace {

// What 1.37 says after a missing key.
constexpr std::string_view kMissingKeyHint =
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
    "fields";

Result<bool> Reached(const Candidate& candidate, const Node& node) {
  if (!candidate.slice->per_device_node_selection) return true;
  return Reaches(candidate.device->reach, node);
}

}  // namespace

std::string DeviceFilter::Step::Owner() const {
  return device_class != nullptr ? Format("class {}", device_class->name) : Format("claim {}", api::ToText(*claim));
}

DeviceFilter::DeviceFilter(const api::DeviceClass& device_class, const api::DeviceRequest& request,
                           const api::ClaimRef& claim, cel::SelectorCache& selectors) {
  steps_.reserve(device_class.selectors.size() + request.selectors.size());
  AddSteps(device_class.selectors, selectors, &device_class, nullptr);
  AddSteps(request.selectors, selectors, nullptr, &claim);
}

void DeviceFilter::AddSteps(const std::vector<api::Selector>& expressions, cel::SelectorCache& selectors,
                            const api::DeviceClass* device_class, const api::ClaimRef* claim) {
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const std::string_view text = expressions[i].cel ? std::string_view(*expressions[i].cel) : std::string_view();
    steps_.push_back(
        {.selector = selectors.Get(text), .device_class = device_class, .claim = claim, .number = i, .text = text});
  }
}

Match DeviceFilter::Ask(const Candidate& candidate, const Node& node, const Rules& rules) const {
  if (!rules.gates.binding_conditions && !candidate.device->binding_conditions.empty()) return Match::kNo;
  for (const Step& step : steps_) {
    if (!step.selector) return Match::kFault;
    const auto match = step.selector->Matches(*candidate.facts);
    if (!match) return Match::kFault;
    if (!*match) return Match::kNo;
  }
  const auto reached = Reached(candidate, node);
  if (!reached) return Match::kFault;
  return *reached ? Match::kYes : Match::kNo;
}

Error DeviceFilter::Fault(const Step& step, const Candidate& candidate, const Rules& rules, const Error& error) {
  if (!step.selector) {
    return {error.kind(), error.code(),
            Format("{}: selector #{}: CEL compile error: {}", step.Owner(), step.number, error.message()),
            error.advice()};
  }
  const std::string where = rules.errors_name_device ? Format(" on device {}", DeviceName(candidate)) : "";
  const bool missing = rules.errors_name_device && error.message().contains("no such key:");
  return {error.kind(), error.code(),
          Format("{}: selector #{}{}: CEL runtime error: {}{}", step.Owner(), step.number, where, error.message(),
                 missing ? kMissingKeyHint : ""),
          error.advice()};
}

Error DeviceFilter::FaultOf(const Candidate& candidate, const Node& node, const Rules& rules) const {
  for (const Step& step : steps_) {
    if (!step.selector) return Fault(step, candidate, rules, step.selector.error());
    const auto match = step.selector->Matches(*candidate.facts);
    if (!match) return Fault(step, candidate, rules, match.error());
  }
  if (auto reached = Reached(candidate, node); !reached) return std::move(reached).error();
  Abort("a selector failed, and then did not");
}

std::string DeviceFilter::WhyNot(const Candidate& candidate, const Node& node, const Rules& rules) const {
  for (const Step& step : steps_) {
    const auto match =
        step.selector ? step.selector->Matches(*candidate.facts) : std::unexpected(step.selector.error());
    if (!match) return Fault(step, candidate, rules, match.error()).Text();
    if (!*match) return Format("{}: selector #{} is false: {}", step.Owner(), step.number, step.text);
  }
  return Format("node {} does not reach it", node.name);
}

}  // namespace tessera::alloc
