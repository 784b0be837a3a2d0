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
    context.Error(node, "BadName", Format("{} is not domain/name", Quote(Clip(*name, 80))),
                  {.advice = IsQualifiedName(*name) ? Format("write {}/{}", kOurDriver, *name)
                                                    : "write domain/name, such as resource.kubernetes.io/pcieRoot"});
    return;
  }
  const auto parts = Cut(*name, "/");
  if (context.options.release >= cel::Release::k1_37 && Lower(parts->first) != parts->first) {
    context.Error(node, "BadName", Format("the domain of {} has upper-case letters", Quote(*name)),
                  {.advice = "from 1.37 on servers refuse them here"});
    return;
  }
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
  // Servers before 1.37 look at one of them only.
  if (!match.exists() || context.options.release >= cel::Release::k1_37) CheckAttribute(context, distinct);
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

void CheckLabels(Context& context, const Node& metadata) {
  const Node labels = metadata.Field("labels"), annotations = metadata.Field("annotations");
  for (const std::string& key : labels.Keys()) {
    const Node label = labels.Key(key);
    if (!IsLabelKey(key)) {
      context.Error(label, "BadName", Format("{} is no key of a label", Quote(Clip(key, 80))));
    } else if (!IsLabelValue(label.TextOr(""))) {
      context.Error(label, "BadValue", Format("{} is no value of a label", Quote(Clip(label.TextOr(""), 80))),
                    {.advice = "letters, digits, dashes, dots and underscores, at most 63; or an annotation"});
    }
  }
  for (const std::string& key : annotations.Keys()) {
    if (IsLabelKey(Lower(key))) continue;
    context.Error(annotations.Key(key), "BadName", Format("{} is no key of an annotation", Quote(Clip(key, 80))));
  }
}

void CheckMetadata(Context& context) {
  const Node metadata = context.root().Field("metadata");
  const Node name = metadata.Field("name"), prefix = metadata.Field("generateName"),
             space = metadata.Field("namespace");
  if (name.TextOr("").empty() && prefix.TextOr("").empty()) {
    context.Error(metadata.Field("name"), "MissingField", "name is required", {.advice = "or generateName"});
  }
  // A name is made of the prefix by adding letters, so it may end in a dash.
  const std::string prefix_text = prefix.TextOr("");
  const std::string made = prefix_text.ends_with('-') ? prefix_text + "x" : prefix_text;
  for (const auto& [node, text] : {std::pair{name, name.TextOr("")}, std::pair{prefix, made}}) {
    if (text.empty() || IsDnsSubdomain(text)) continue;
    context.Error(node, "BadName", Format("{} is no name of an object", Quote(Clip(node.TextOr(""), 80))),
                  {.advice = "lower-case letters, digits, dashes and dots"});
  }
  CheckLabels(context, metadata);
  if (space.text() && !IsDnsLabel(*space.text())) {
    context.Error(space, "BadName", Format("{} is no name of a namespace", Quote(Clip(*space.text(), 80))));
  }
}

}  // namespace tessera::lint
