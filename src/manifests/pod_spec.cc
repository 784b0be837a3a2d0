#include "manifests/pod_spec.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "json/decode.h"

namespace tessera::manifests {

// ADL finds these through the arguments, so they stand outside the unnamed namespace.
template <class F>
void Describe(F& f, PodClaim& c) {
  f.Required("name", c.name);
  f.Optional("resourceClaimName", c.claim_name);
  f.Optional("resourceClaimTemplateName", c.template_name);
}
template <class F>
void Describe(F& f, ContainerClaim& c) {
  f.Required("name", c.name);
  f.Optional("request", c.request);
}

namespace {

struct Resources {
  std::vector<ContainerClaim> claims;
  std::map<std::string, json::Value> limits, requests;
};
template <class F>
void Describe(F& f, Resources& r) {
  f.Optional("claims", r.claims);
  f.Optional("limits", r.limits);
  f.Optional("requests", r.requests);
}

struct ContainerObject {
  std::string name;
  Resources resources;
};
template <class F>
void Describe(F& f, ContainerObject& c) {
  f.Required("name", c.name);
  f.Optional("resources", c.resources);
}

struct NodeAffinity {
  std::optional<api::NodeSelector> required;
};
template <class F>
void Describe(F& f, NodeAffinity& a) {
  f.Optional("requiredDuringSchedulingIgnoredDuringExecution", a.required);
}

struct Affinity {
  NodeAffinity node;
};
template <class F>
void Describe(F& f, Affinity& a) {
  f.Optional("nodeAffinity", a.node);
}

struct SpecObject {
  std::string node_name;
  std::map<std::string, std::string> node_selector;
  Affinity affinity;
  std::vector<PodClaim> claims;
  std::vector<ContainerObject> init_containers, containers;
};
template <class F>
void Describe(F& f, SpecObject& s) {
  f.Optional("nodeName", s.node_name);
  f.Optional("nodeSelector", s.node_selector);
  f.Optional("affinity", s.affinity);
  f.Optional("resourceClaims", s.claims);
  f.Optional("initContainers", s.init_containers);
  f.Optional("containers", s.containers);
}

// Resources of Kubernetes itself have no domain, or one that ends in kubernetes.io. Those that name a DeviceClass do.
bool IsExtended(std::string_view resource) {
  if (resource.starts_with("deviceclass.resource.kubernetes.io/")) return true;
  const auto cut = Cut(resource, "/");
  return cut && !cut->first.ends_with("kubernetes.io");
}

Container ToContainer(ContainerObject object) {
  Container container{.name = std::move(object.name), .claims = std::move(object.resources.claims)};
  std::vector<std::string>& extended = container.extended_resources;
  for (const auto* amounts : {&object.resources.limits, &object.resources.requests}) {
    for (const auto& [name, amount] : *amounts) {
      if (IsExtended(name) && std::ranges::find(extended, name) == extended.end()) extended.push_back(name);
    }
  }
  return container;
}

}  // namespace

Result<PodSpec> DecodePodSpec(const json::Value& value, std::string_view path) {
  TESSERA_ASSIGN(SpecObject object, json::Decode<SpecObject>(value, json::Unknown::kIgnore, path));
  PodSpec spec{.node_name = std::move(object.node_name),
               .node_selector = std::move(object.node_selector),
               .required_nodes = std::move(object.affinity.node.required),
               .claims = std::move(object.claims)};
  for (ContainerObject& one : object.init_containers) spec.init_containers.push_back(ToContainer(std::move(one)));
  for (ContainerObject& one : object.containers) spec.containers.push_back(ToContainer(std::move(one)));
  return spec;
}

std::string_view PodSpecPath(std::string_view kind) {
  constexpr std::array<std::string_view, 5> kWithTemplate{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet",
                                                          "Job"};
  if (std::ranges::find(kWithTemplate, kind) != kWithTemplate.end()) return "spec.template.spec";
  return kind == "CronJob" ? "spec.jobTemplate.spec.template.spec" : "";
}

}  // namespace tessera::manifests
