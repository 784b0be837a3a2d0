// manifests/objects.h: what manifests mean to those who allocate, explain and lint: claims and what they need.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/claim_spec.h"
#include "api/node_selector.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/error.h"
#include "manifests/manifest.h"

namespace tessera::manifests {

// What a driver says about a device that it prepared: status.devices of a claim.
struct DeviceStatus {
  std::string driver, pool, device;
  struct Condition {
    std::string type, status, reason, message;
  };
  std::vector<Condition> conditions;
};

struct Claim {
  Origin origin;
  api::ResourceClaim object;  // The UID is empty when it comes from a file that a person wrote.
  api::ClaimSpec spec;
  bool deleting = false;  // Has a deletionTimestamp.
  std::string owner_pod;  // Made from a template for this pod, and the pod's UID; empty otherwise.
  std::string owner_pod_uid;
  std::vector<DeviceStatus> devices;
};

struct ClaimTemplate {
  Origin origin;
  std::string namespace_name, name;
  api::ClaimSpec spec;
};

struct DeviceClass {
  Origin origin;
  api::DeviceClass object;
};

struct Slice {
  Origin origin;
  api::ResourceSlice object;
};

// An administrator's taint on devices (DeviceTaintRule).
struct TaintRule {
  Origin origin;
  std::string name;
  bool has_selector = false;                        // An empty one selects all devices; without one: see alloc::Rules.
  std::optional<std::string> driver, pool, device;  // Absent: any.
  api::Taint taint;
};

struct Node {
  Origin origin;
  std::string name;
  std::map<std::string, std::string> labels;
  std::vector<api::Taint> taints;  // A node that is cordoned has one.
};

// An entry of spec.resourceClaims: a claim by name, or one to be made from a template.
struct PodClaim {
  std::string name;  // What containers call it.
  std::optional<std::string> claim_name, template_name;
};

// resources.claims of a container: a claim of the pod, or one of its requests.
struct ContainerClaim {
  std::string name, request;  // No request: all of them.
};

struct Container {
  std::string name;
  std::vector<ContainerClaim> claims;
  std::vector<std::string> extended_resources;  // Names with a domain in limits or requests: "nvidia.com/gpu".
};

struct PodSpec {
  std::string node_name;
  std::map<std::string, std::string> node_selector;
  std::optional<api::NodeSelector> required_nodes;  // Of the node affinity.
  std::vector<api::Toleration> tolerations;         // Of taints of nodes.
  std::vector<PodClaim> claims;
  std::vector<Container> init_containers, containers;
};

struct Pod {
  Origin origin;
  std::string namespace_name, name, uid;
  PodSpec spec;
  bool deleting = false;
  std::string phase;                                              // "Pending"; empty when it comes from a file.
  std::map<std::string, std::optional<std::string>> made_claims;  // By the pod's name for it; nothing: none is needed.
  std::string unscheduled_message;                                // The scheduler's words, when it found no node.
};

// Deployment, StatefulSet, DaemonSet, ReplicaSet, Job or CronJob, as far as its pods are concerned.
struct Workload {
  Origin origin;
  std::string kind, namespace_name, name;
  PodSpec pod;
};

struct Event {
  std::string kind, namespace_name, name;  // What it is about.
  std::string type, reason, message, component, host;
  std::string last_seen;  // RFC 3339.
  std::int64_t count = 1;
};

// A kind that nothing here asks for.
struct OtherObject {
  Origin origin;
  std::string kind, namespace_name, name;
};

struct Objects {
  // Where objects without a namespace are: what `-n` says.
  std::string default_namespace = "default";

  std::vector<DeviceClass> classes;
  std::vector<Claim> claims;
  std::vector<ClaimTemplate> templates;
  std::vector<Slice> slices;
  std::vector<TaintRule> taint_rules;
  std::vector<Node> nodes;
  std::vector<Pod> pods;
  std::vector<Workload> workloads;
  std::vector<Event> events;
  std::vector<OtherObject> others;

  // Puts the object where it belongs. resource.k8s.io is read as v1, v1beta2 or v1beta1. Unknown fields are ignored; an
  // error names field, file, document and line.
  Result<void> Add(const Manifest& manifest);
};

// All objects of a file, or of standard input ("-").
Result<void> ReadInto(Objects& objects, const std::string& file);

// An object of resource.k8s.io in the shape of v1: v1beta1 has a device's fields below `basic`, and a request's fields
// beside its name instead of below `exactly`.
json::Value AsV1(const Manifest& manifest);

}  // namespace tessera::manifests
