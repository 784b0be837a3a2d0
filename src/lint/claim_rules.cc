// What a claim says beside its requests: constraints, references between its parts. And classes and metadata.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "cel/references.h"
#include "lint/names.h"
#include "lint/rules.h"
#include "lint/selector_rules.h"

namespace tessera::lint {
namespace {

void CheckAttribute(Context& context, const Node& node) {
  const auto name = node.text();
  if (!name) return;
  if (!IsFullyQualifiedName(*name)) {
    context.Error(node, "BadName", Format("{} has no domain", Quote(Clip(*name, 80))),
                  {.advice = IsQualifiedName(*name) ? Format("write {}/{}", kOurDriver, *name)
                                                    : "write domain/name, such as resource.kubernetes.io/pcieRoot"});
    return;
  }
  const auto parts = Cut(*name, "/");
  const auto has = [&](const LiveDevice* device) {
    return cel::Has(device->facts, {.domain = std::string(parts->first), .id = std::string(parts->second)});
  };
  const auto devices = AllDevices(context);
  if (devices.empty() || std::ranges::any_of(devices, has)) return;
  context.Warn(node, "NoSuchAttribute", Format("no such attribute on any of {} devices: {}", devices.size(), *name));
}

void CheckConstraint(Context& context, const Node& node, const std::vector<AskedRequest>& asked) {
  CheckReferences(context, node.Field("requests"), asked);
  const Node match = node.Field("matchAttribute"), distinct = node.Field("distinctAttribute");
  if (!match.exists() && !distinct.exists()) {
    context.Error(node, "OneOf", "has neither matchAttribute nor distinctAttribute");
  } else if (match.exists() && distinct.exists()) {
    context.Warn(distinct, "OneOf", "is not looked at beside matchAttribute", {.advice = "make two constraints of it"});
  }
  CheckAttribute(context, match);
  CheckAttribute(context, distinct);
}

}  // namespace

void CheckReferences(Context& context, const Node& list, const std::vector<AskedRequest>& asked) {
  std::set<std::string> names, seen;
  for (const AskedRequest& one : asked) {
    names.insert(one.name);
    names.insert(one.name.substr(0, one.name.find('/')));
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const Node& node : list.Items()) {
    const auto name = node.text();
    if (!name) continue;
    if (!names.contains(*name)) {
      const auto near = NearMatch(*name, known);
      context.Error(node, "BadReference", Format("the claim has no request {}", Quote(Clip(*name, 80))),
                    {.advice = near ? Format("did you mean {}?", *near) : "name a request, or request/subrequest"});
    } else if (!seen.insert(*name).second) {
      context.Error(node, "DuplicateName", Format("{} is named twice", Quote(*name)));
    }
  }
}

void CheckClaimSpec(Context& context, const Node& spec) {
  const auto asked = RequestsOf(spec, context.IsV1Beta1());
  const Node devices = spec.Field("devices");
  CheckRequests(context, devices.Field("requests"));
  for (const Node& constraint : devices.Field("constraints").Items()) CheckConstraint(context, constraint, asked);
  CheckConfigs(context, devices.Field("config"), asked);
}

void CheckClass(Context& context) {
  const Node spec = context.root().Field("spec");
  const Node selectors = spec.Field("selectors");
  CheckSelectors(context, selectors, DriverIn(SelectorsOf(selectors)));
  if (context.options.devices != nullptr) CheckOnDevices(context, selectors, AllDevices(context), "there");
  CheckConfigs(context, spec.Field("config"), {});
  const Node extended = spec.Field("extendedResourceName");
  if (extended.text() && !IsExtendedResource(*extended.text())) {
    context.Error(extended, "BadName", Format("{} is no extended resource", Quote(Clip(*extended.text(), 80))),
                  {.advice = "write domain/name, such as nvidia.com/gpu"});
  }
}

void CheckMetadata(Context& context) {
  const Node metadata = context.root().Field("metadata");
  const Node name = metadata.Field("name"), prefix = metadata.Field("generateName"),
             space = metadata.Field("namespace");
  if (!name.exists() && !prefix.exists()) {
    context.Error(metadata.Field("name"), "MissingField", "name is required", {.advice = "or generateName"});
  } else if (name.text() && !IsDnsSubdomain(*name.text())) {
    context.Error(name, "BadName", Format("{} is no name of an object", Quote(Clip(*name.text(), 80))),
                  {.advice = "lower-case letters, digits, dashes and dots"});
  }
  if (space.text() && !IsDnsLabel(*space.text())) {
    context.Error(space, "BadName", Format("{} is no name of a namespace", Quote(Clip(*space.text(), 80))));
  }
}

}  // namespace tessera::lint
