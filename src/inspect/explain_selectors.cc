#include "inspect/explain_selectors.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/text.h"
#include "cel/conjuncts.h"

namespace tessera::inspect {
namespace {

struct Printer {
  std::string operator()(std::int64_t value) const { return Format("{}", value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return Quote(value); }
  std::string operator()(const Semver& value) const { return value.ToString(); }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    return Format("a list of {}", values.size());
  }
};

std::string ValueOf(const cel::DeviceFacts& facts, const cel::Reference& reference) {
  if (reference.is_capacity) {
    for (const cel::CapacityFact& fact : facts.capacity) {
      if (fact.domain == reference.domain && fact.id == reference.id) return fact.value.ToString();
    }
  } else {
    for (const cel::AttributeFact& fact : facts.attributes) {
      if (fact.domain == reference.domain && fact.id == reference.id) return std::visit(Printer{}, fact.value);
    }
  }
  return "absent";
}

std::string Found(const cel::DeviceSelector& selector, const cel::DeviceFacts& facts) {
  std::string found;
  for (const cel::Reference& reference : selector.References()) {
    const std::string one = Format("{} is {}", reference.id, ValueOf(facts, reference));
    if (found.contains(one)) continue;
    if (!found.empty()) found += ", ";
    found += one;
  }
  if (found.empty() && selector.expression().contains("device.driver"))
    found = Format("driver is {}", Quote(facts.driver));
  return found;
}

// What the device says of an expression that it should match; nothing when it does.
std::optional<FalsePart> Judge(std::string_view text, const cel::DeviceFacts& facts, cel::SelectorCache& selectors) {
  const auto selector = selectors.Get(text);
  if (!selector.has_value()) return FalsePart{.fault = "does not compile"};
  const auto match = selector->Matches(facts);
  if (match.has_value() && *match) return std::nullopt;
  return FalsePart{.part = std::string(text),
                   .fault = match.has_value() ? "" : match.error().message(),
                   .found = Found(*selector, facts)};
}

// The whole first: "false && fails" is false.
std::optional<FalsePart> PartOf(const std::string& text, const cel::DeviceFacts& facts, cel::SelectorCache& selectors) {
  auto whole = Judge(text, facts, selectors);
  if (!whole || !selectors.Get(text).has_value()) return whole;
  for (const std::string_view part : cel::Conjuncts(text)) {
    auto judged = Judge(part, facts, selectors);
    if (judged && judged->fault == whole->fault) return judged;
  }
  return whole;
}

}  // namespace

FalsePart FindFalsePart(const api::DeviceClass& device_class, const api::DeviceRequest& request,
                        const cel::DeviceFacts& facts, cel::SelectorCache& selectors) {
  const auto look = [&](const std::vector<api::Selector>& list, const std::string& owner) -> std::optional<FalsePart> {
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto part = PartOf(list[i].cel.value_or(""), facts, selectors);
      if (!part) continue;
      part->owner = Format("{} selector {}", owner, i);
      return part;
    }
    return std::nullopt;
  };
  if (auto part = look(device_class.selectors, Format("class {}", device_class.name))) return *part;
  return look(request.selectors, "the request's").value_or(FalsePart());
}

}  // namespace tessera::inspect
