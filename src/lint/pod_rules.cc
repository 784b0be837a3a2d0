// How pods use claims: the pod's list, what containers name of it, and the claims and templates behind.
#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "lint/names.h"
#include "lint/rules.h"
#include "lint/schema.h"

namespace tessera::lint {
namespace {

// A field that is there under a name near the right one. The other fields of pods are not checked, so only what nobody
// can have meant otherwise is an error.
void CheckSpelling(Context& context, const Node& node, std::string_view right) {
  for (const std::string& key : node.Keys()) {
    const std::array candidates{right};
    if (key == right || !NearMatch(key, candidates)) continue;
    context.Error(node.Field(key), "UnknownField", Format("there is no field {} here", Quote(Clip(key, 60))),
                  {.advice = Format("did you mean {}?", right)});
  }
}

struct PodClaim {
  Node node;
  std::string name;
  const manifests::Manifest* object = nullptr;  // The claim or template, when the files hold it.
  bool used = false;
};

const manifests::Manifest* Referred(Context& context, const Node& reference, std::string_view kind) {
  const auto name = reference.text();
  if (!name) return nullptr;
  const std::string& space = context.object.namespace_name;
  if (const auto* const found = context.catalogue.Find(kind, space, *name)) return found;
  const auto* const elsewhere = context.catalogue.FindElsewhere(kind, *name);
  context.Warn(reference, "NotInFiles",
               elsewhere != nullptr ? Format("the {} {} is in namespace {}, and the pod in {}", kind, *name,
                                             elsewhere->namespace_name, space)
                                    : Format("the {} {} is not in the files", kind, *name),
               {.advice = "the pod waits until it exists in its namespace"});
  return nullptr;
}

PodClaim CheckPodClaim(Context& context, const Node& node, bool replicated) {
  CheckShape(context, node, kPodClaimSchema);
  const Node claim = node.Field("resourceClaimName"), made = node.Field("resourceClaimTemplateName");
  if (claim.exists() == made.exists()) {
    context.Error(node, "OneOf",
                  Format("has {} resourceClaimName {} resourceClaimTemplateName", claim.exists() ? "both" : "neither",
                         claim.exists() ? "and" : "nor"),
                  {.advice = "choose one of them"});
  }
  PodClaim found{.node = node, .name = node.Field("name").TextOr("")};
  found.object =
      claim.exists() ? Referred(context, claim, "ResourceClaim") : Referred(context, made, "ResourceClaimTemplate");
  if (claim.exists() && replicated) {
    context.Note(claim, "SharedClaim", "all pods made of this share the devices of one claim",
                 {.advice = "for devices of their own, name a resourceClaimTemplateName"});
  }
  return found;
}

std::vector<PodClaim> CheckPodClaims(Context& context, const Node& list, bool replicated) {
  std::vector<PodClaim> claims;
  std::set<std::string> names;
  for (const Node& node : list.Items()) {
    PodClaim claim = CheckPodClaim(context, node, replicated);
    if (!claim.name.empty() && !IsDnsLabel(claim.name)) {
      context.Error(node.Field("name"), "BadName", Format("{} is no DNS label", Quote(Clip(claim.name, 80))),
                    {.advice = "lower-case letters, digits and dashes, at most 63"});
    } else if (!claim.name.empty() && !names.insert(claim.name).second) {
      context.Error(node.Field("name"), "DuplicateName", Format("{} is in the pod's list already", Quote(claim.name)));
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

// The request that a container names, in the claim or template behind.
void CheckContainerRequest(Context& context, const Node& request, const PodClaim& claim) {
  const auto name = request.text();
  if (!name || claim.object == nullptr) return;
  const Node spec = Node(&claim.object->value, "").Field("spec");
  const bool is_template = claim.object->kind == "ResourceClaimTemplate";
  std::vector<std::string> names;
  for (const Node& one : (is_template ? spec.Field("spec") : spec).Field("devices").Field("requests").Items()) {
    names.push_back(one.Field("name").TextOr(""));
  }
  if (std::ranges::find(names, *name) != names.end()) return;
  context.Error(request, "BadReference",
                Format("the {} {} has no request {}", claim.object->kind, claim.object->name, Quote(Clip(*name, 80))),
                {.advice = Format("there are: {}", Join(names, ", "))});
}

void CheckContainerClaim(Context& context, const Node& node, std::vector<PodClaim>& claims,
                         std::set<std::pair<std::string, std::string>>& seen) {
  CheckShape(context, node, kContainerClaimSchema);
  const auto name = node.Field("name").text();
  if (!name) return;
  const auto claim = std::ranges::find(claims, *name, &PodClaim::name);
  if (claim == claims.end()) {
    std::vector<std::string_view> names;
    for (const PodClaim& one : claims) names.push_back(one.name);
    const auto near = NearMatch(*name, names);
    context.Error(node.Field("name"), "BadReference",
                  Format("the pod's resourceClaims have no {}", Quote(Clip(*name, 80))),
                  {.advice = near ? Format("did you mean {}?", *near) : "add it to the pod's resourceClaims"});
    return;
  }
  claim->used = true;
  if (!seen.emplace(*name, node.Field("request").TextOr("")).second) {
    context.Error(node, "DuplicateName", Format("{} is named twice by this container", Quote(*name)));
  }
  CheckContainerRequest(context, node.Field("request"), *claim);
}

// Extended resources that a DeviceClass serves need a gate of their own.
void CheckLimits(Context& context, const Node& limits) {
  if (context.options.release >= cel::Release::k1_36) return;
  for (const std::string& name : limits.Keys()) {
    if (name != "nvidia.com/gpu") continue;
    context.Note(limits.Key(name), "GateOff",
                 Format("needs a device plugin in {}: DeviceClasses serve it only with the gate DRAExtendedResource",
                        ToString(context.options.release)),
                 {.advice = "claim the GPU, or use 1.36"});
  }
}

void CheckContainer(Context& context, const Node& container, std::vector<PodClaim>& claims) {
  CheckSpelling(context, container, "resources");
  const Node resources = container.Field("resources");
  CheckSpelling(context, resources, "claims");
  std::set<std::pair<std::string, std::string>> seen;
  for (const Node& claim : resources.Field("claims").Items()) CheckContainerClaim(context, claim, claims, seen);
  CheckLimits(context, resources.Field("limits"));
}

}  // namespace

void CheckPodSpec(Context& context, const Node& spec, bool replicated) {
  CheckSpelling(context, spec, "resourceClaims");
  auto claims = CheckPodClaims(context, spec.Field("resourceClaims"), replicated);
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (const Node& container : spec.Field(list).Items()) CheckContainer(context, container, claims);
  }
  for (const PodClaim& claim : claims) {
    if (claim.used) continue;
    context.Warn(claim.node, "UnusedClaim", Format("no container names {}", Quote(claim.name)),
                 {.advice = Format("add `claims: [{{name: {}}}]` to the container's resources", claim.name)});
  }
}

}  // namespace tessera::lint
