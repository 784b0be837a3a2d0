#include "alloc/matcher.h"

#include "base/text.h"

namespace tessera::alloc {
namespace {

// What 1.37 says after a missing key.
constexpr std::string_view kMissingKeyHint =
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
    "fields";

}  // namespace

std::string Matcher::Step::Owner() const {
  return device_class != nullptr ? Format("class {}", device_class->name) : Format("claim {}", api::ToText(*claim));
}

void Matcher::AddSteps(std::vector<Step>& steps, const std::vector<api::Selector>& selectors,
                       const api::DeviceClass* device_class, const api::ClaimRef* claim) {
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    const std::string_view text = selectors[i].cel ? std::string_view(*selectors[i].cel) : std::string_view();
    steps.push_back(
        {.selector = selectors_.Get(text), .device_class = device_class, .claim = claim, .number = i, .text = text});
  }
}

void Matcher::AddOption(const api::DeviceClass& device_class, const api::DeviceRequest& request,
                        const api::ClaimRef& claim) {
  std::vector<Step>& steps = steps_.emplace_back();
  steps.reserve(device_class.selectors.size() + request.selectors.size());
  AddSteps(steps, device_class.selectors, &device_class, nullptr);
  AddSteps(steps, request.selectors, nullptr, &claim);
  known_.emplace_back(pools_.devices.size(), Match::kUnknown);
}

Result<bool> Matcher::Reached(const Candidate& candidate) const {
  if (!candidate.slice->per_device_node_selection) return true;
  return Reaches(candidate.device->reach, node_);
}

Match Matcher::Evaluate(std::size_t option, std::uint32_t device) const {
  const Candidate& candidate = pools_.devices[device];
  if (!rules_.gates.binding_conditions && !candidate.device->binding_conditions.empty()) return Match::kNo;
  for (const Step& step : steps_[option]) {
    if (!step.selector) return Match::kFault;
    const auto match = step.selector->Matches(*candidate.facts);
    if (!match) return Match::kFault;
    if (!*match) return Match::kNo;
  }
  const auto reached = Reached(candidate);
  if (!reached) return Match::kFault;
  return *reached ? Match::kYes : Match::kNo;
}

Error Matcher::Fault(const Step& step, const Candidate& candidate, const Error& error) const {
  if (!step.selector) {
    return {error.kind(), error.code(),
            Format("{}: selector #{}: CEL compile error: {}", step.Owner(), step.number, error.message()),
            error.advice()};
  }
  const std::string where = rules_.errors_name_device ? Format(" on device {}", DeviceName(candidate)) : "";
  const bool missing = rules_.errors_name_device && error.message().contains("no such key:");
  return {error.kind(), error.code(),
          Format("{}: selector #{}{}: CEL runtime error: {}{}", step.Owner(), step.number, where, error.message(),
                 missing ? kMissingKeyHint : ""),
          error.advice()};
}

Error Matcher::FaultOf(std::size_t option, std::uint32_t device) const {
  const Candidate& candidate = pools_.devices[device];
  for (const Step& step : steps_[option]) {
    if (!step.selector) return Fault(step, candidate, step.selector.error());
    const auto match = step.selector->Matches(*candidate.facts);
    if (!match) return Fault(step, candidate, match.error());
  }
  if (auto reached = Reached(candidate); !reached) return std::move(reached).error();
  Abort("a selector failed, and then did not");
}

std::string Matcher::WhyNot(std::size_t option, std::uint32_t device) const {
  const Candidate& candidate = pools_.devices[device];
  for (const Step& step : steps_[option]) {
    const auto match =
        step.selector ? step.selector->Matches(*candidate.facts) : std::unexpected(step.selector.error());
    if (!match) return Fault(step, candidate, match.error()).Text();
    if (!*match) return Format("{}: selector #{} is false: {}", step.Owner(), step.number, step.text);
  }
  return Format("node {} does not reach it", node_.name);
}

}  // namespace tessera::alloc
