#include "lint/selector_rules.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cel/device_selector.h"
#include "cel/spelling.h"
#include "lint/correction.h"

namespace tessera::lint {
namespace {

// The API server's: it sees the expression first.
cel::Environment ServerEnvironment(const Context& context) {
  return {.release = context.options.release,
          .use = cel::Use::kNewExpression,
          .consumable_capacity_gate = context.options.release >= cel::Release::k1_36};
}

// The scheduler's, which evaluates it.
cel::Environment SchedulerEnvironment(const Context& context) { return {.release = context.options.release}; }

// What to paste over the line, or the lines, that hold the expression.
std::string ToPaste(std::string_view expression) {
  expression = Trim(expression);
  if (expression.contains('\n')) {
    std::string block = "expression: |-";
    for (const std::string_view line : Split(expression, '\n')) block += Format("\n  {}", line);
    return block;
  }
  json::Object line;
  line.emplace("expression", expression);
  return std::string(Trim(json::PrintYaml(json::Value(std::move(line)))));
}

void CheckSelector(Context& context, const Node& node, std::string_view driver) {
  const auto expression = node.text();
  if (!expression) return;  // CheckShape() has said so.
  const auto environment = ServerEnvironment(context);
  const auto compiled = cel::Compile(*expression, environment);
  auto correction = Correct(*expression, driver);
  if (correction && !cel::Compile(correction->expression, environment)) correction.reset();
  const std::string reasons = correction ? Join(correction->reasons, "; ") : "";
  const std::string fix = correction ? ToPaste(correction->expression) : "";
  if (!compiled) {
    const Error& error = compiled.error();
    context.Error(node, error.code(), error.message(), {.advice = correction ? reasons : error.advice(), .fix = fix});
  } else if (correction) {
    context.Warn(node, "CelSuspect", "compiles, and cannot say what was meant on any device",
                 {.advice = reasons, .fix = fix});
  }
}

std::string ToText(const cel::Reference& reference) { return Format("{}/{}", reference.domain, reference.id); }

// Where the devices have the name, when that is the other map.
std::string InOtherMap(const cel::Reference& reference, const std::vector<const LiveDevice*>& devices) {
  cel::Reference other = reference;
  other.is_capacity = !reference.is_capacity;
  if (std::ranges::none_of(devices, [&](const LiveDevice* device) { return cel::Has(device->facts, other); }))
    return {};
  return Format("they have it as {}: device.{}['{}'].{}", other.is_capacity ? "a capacity" : "an attribute",
                other.is_capacity ? "capacity" : "attributes", other.domain, other.id);
}

std::string Print(const cel::AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Quote(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return Format("{}", *number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* version = std::get_if<Semver>(&value)) return version->ToString();
  return "a list";
}

// `gpu.nvidia.com/architecture is "Hopper"`: what the devices have where the selector looks.
std::string Found(const cel::Reference& reference, const std::vector<const LiveDevice*>& devices) {
  constexpr std::size_t kEnough = 4;
  std::set<std::string> values;
  const auto is_it = [&](const auto& fact) { return fact.domain == reference.domain && fact.id == reference.id; };
  for (const LiveDevice* const device : devices) {
    for (const auto& fact : device->facts.attributes) {
      if (!reference.is_capacity && is_it(fact)) values.insert(Print(fact.value));
    }
    for (const auto& fact : device->facts.capacity) {
      if (reference.is_capacity && is_it(fact)) values.insert(fact.value.ToString());
    }
  }
  std::vector<std::string> shown(values.begin(), values.end());
  const bool more = shown.size() > kEnough;
  if (more) shown.resize(kEnough);
  return Format("{} is {}{}", ToText(reference), Join(shown, ", "), more ? ", …" : "");
}

std::vector<cel::UnknownName> UnknownNames(const cel::DeviceSelector& selector,
                                           const std::vector<const LiveDevice*>& devices) {
  std::vector<const cel::DeviceFacts*> facts;
  for (const LiveDevice* const device : devices) facts.push_back(&device->facts);
  return cel::FindUnknownNames(selector, facts);
}

// Points at each name, and has the expression with those that were probably meant.
void ReportUnknown(Context& context, const Node& node, const std::vector<cel::UnknownName>& unknown,
                   const std::vector<const LiveDevice*>& devices, std::string_view no_match) {
  const std::string expression(node.TextOr(""));
  std::string message = Format("{}:", no_match);
  std::vector<std::string> advice;
  for (const cel::UnknownName& name : unknown) {
    message += "\n" + cel::Render(expression, name);
    if (std::string elsewhere = InOtherMap(name.reference, devices); !elsewhere.empty()) advice.push_back(elsewhere);
  }
  const std::string respelled = cel::Respell(expression, unknown);
  context.Warn(node, "NoSuchAttribute", message,
               {.advice = Join(advice, "; "), .fix = respelled == expression ? "" : ToPaste(respelled)});
}

void ReportNoMatch(Context& context, const Node& node, const cel::DeviceSelector& selector,
                   const std::vector<const LiveDevice*>& devices, std::string_view what) {
  const std::string no_match = Format("matches none of {} devices {}", devices.size(), what);
  const std::vector<cel::UnknownName> unknown = UnknownNames(selector, devices);
  if (!unknown.empty()) return ReportUnknown(context, node, unknown, devices, no_match);
  std::vector<std::string> advice;
  for (const cel::Reference& reference : selector.References()) {
    std::string found = Found(reference, devices);
    if (std::ranges::find(advice, found) == advice.end()) advice.push_back(std::move(found));
  }
  context.Warn(node, "NoMatch", no_match, {.advice = Join(advice, "; ")});
}

void CheckOnDevice(Context& context, const Node& node, const std::vector<const LiveDevice*>& devices,
                   std::string_view what) {
  const auto selector = cel::Compile(node.TextOr(""), SchedulerEnvironment(context));
  if (!selector || devices.empty()) return;
  std::size_t matches = 0, failures = 0;
  std::string first_failure;
  for (const LiveDevice* const device : devices) {
    const auto match = selector->Matches(device->facts);
    matches += match && *match ? 1 : 0;
    failures += match ? 0 : 1;
    if (!match && first_failure.empty()) {
      first_failure = Format("{} of pool {}: {}", device->name, device->pool, match.error().Text());
    }
  }
  if (matches == 0) return ReportNoMatch(context, node, *selector, devices, what);
  if (failures == 0) return;
  context.Warn(
      node, "FailsOnDevices",
      Format("fails on {} of {} devices {}, first on {}", failures, devices.size(), what, first_failure),
      {.advice = "a pod stays Pending when the scheduler meets such a device: ask has() first, or another class"});
}

}  // namespace

void CheckSelectors(Context& context, const Node& list, std::string_view driver) {
  for (const Node& selector : list.Items()) CheckSelector(context, selector.Field("cel").Field("expression"), driver);
}

std::vector<const LiveDevice*> AllDevices(const Context& context) {
  std::vector<const LiveDevice*> all;
  if (context.options.devices == nullptr) return all;
  for (const LiveDevice& device : context.options.devices->devices) all.push_back(&device);
  return all;
}

std::vector<const LiveDevice*> Matching(const Context& context, const std::vector<const LiveDevice*>& devices,
                                        const std::vector<std::string>& expressions) {
  std::vector<const LiveDevice*> left = devices;
  for (const std::string& expression : expressions) {
    const auto selector = cel::Compile(expression, SchedulerEnvironment(context));
    std::erase_if(
        left, [&](const LiveDevice* device) { return !selector || !selector->Matches(device->facts).value_or(false); });
  }
  return left;
}

void CheckOnDevices(Context& context, const Node& list, const std::vector<const LiveDevice*>& devices,
                    std::string_view what) {
  for (const Node& selector : list.Items()) {
    CheckOnDevice(context, selector.Field("cel").Field("expression"), devices, what);
  }
}

}  // namespace tessera::lint
