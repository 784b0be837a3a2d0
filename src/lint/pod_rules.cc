// How pods use claims: the pod's list, what containers name of it, and the claims and templates behind.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "lint/names.h"
#include "lint/rules.h"
#include "lint/schema.h"

namespace tessera::lint {
namespace {

// The other fields of pods are not checked, so only what nobody can have meant otherwise is an error.
void ReportField(Context& context, const Node& field, std::string_view key, std::string advice) {
  context.Error(field, "UnknownField", Format("there is no field {} here", Quote(Clip(key, 60))),
                {.advice = std::move(advice)});
}

// A field that is there under a name near the right one.
void CheckSpelling(Context& context, const Node& node, std::string_view right) {
  const std::array candidates{right};
  for (const std::string& key : node.Keys()) {
    if (key != right && NearMatch(key, candidates)) {
      ReportField(context, node.Field(key), key, Format("did you mean {}?", right));
    }
  }
}

constexpr std::string_view kInContainers = "containers name claims of the pod: `resources: {claims: [{name: gpu}]}`";

// A field that belongs elsewhere.
void CheckPlace(Context& context, const Node& node, std::string_view key, std::string_view advice) {
  if (node.Field(key).exists()) ReportField(context, node.Field(key), key, std::string(advice));
}

std::vector<Node> ListAt(Context& context, const Node& node) {
  if (node.exists() && !node.value()->is_array()) {
    context.Error(node, "WrongType", Format("expected a list, found {}", json::Describe(*node.value())));
  }
  return node.Items();
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
  if (!IsDnsSubdomain(*name)) {
    context.Error(reference, "BadName", Format("{} is no name of a {}", Quote(Clip(*name, 80)), kind));
    return nullptr;
  }
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
  for (const Node& node : ListAt(context, list)) {
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
  if (!name || name->empty()) return;
  if (!IsDnsLabel(*name)) {
    context.Error(request, "BadName", Format("{} is no name of a request", Quote(Clip(*name, 80))),
                  {.advice = name->contains('/') ? "name the request alone, without the subrequest" : ""});
    return;
  }
  if (claim.object == nullptr) return;
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

// A claim as a whole, or several of its requests.
bool IsNamedTwice(const std::multimap<std::string, std::string>& seen, const std::string& name,
                  const std::string& request) {
  const auto [first, last] = seen.equal_range(name);
  return std::any_of(first, last,
                     [&](const auto& one) { return one.second.empty() || request.empty() || one.second == request; });
}

void CheckContainerClaim(Context& context, const Node& node, std::vector<PodClaim>& claims,
                         std::multimap<std::string, std::string>& seen) {
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
  const std::string request = node.Field("request").TextOr("");
  if (IsNamedTwice(seen, *name, request)) {
    context.Error(node, "DuplicateName", Format("{} is named twice by this container", Quote(*name)),
                  {.advice = "once as a whole, or its requests once each"});
  }
  seen.emplace(*name, request);
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
  CheckPlace(context, container, "claims", kInContainers);
  CheckPlace(context, container, "resourceClaims", kInContainers);
  const Node resources = container.Field("resources");
  CheckSpelling(context, resources, "claims");
  CheckPlace(context, resources.Field("limits"), "claims", "put it beside limits, not below them");
  CheckPlace(context, resources.Field("requests"), "claims", "put it beside requests, not below them");
  std::multimap<std::string, std::string> seen;
  for (const Node& claim : ListAt(context, resources.Field("claims"))) {
    CheckContainerClaim(context, claim, claims, seen);
  }
  CheckLimits(context, resources.Field("limits"));
}

}  // namespace

void CheckPodSpec(Context& context, const Node& spec, bool replicated) {
  CheckSpelling(context, spec, "resourceClaims");
  CheckPlace(context, spec, "claims", "did you mean resourceClaims?");
  CheckPlace(context, spec.Field("resources"), "claims", kInContainers);
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
