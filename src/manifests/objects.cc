#include "manifests/objects.h"

#include <utility>

#include "base/text.h"
#include "json/decode.h"
#include "manifests/pod_spec.h"

namespace tessera::manifests {

// ADL finds these through the arguments, so they stand outside the unnamed namespace.
template <class F>
void Describe(F& f, DeviceStatus::Condition& c) {
  f.Optional("type", c.type);
  f.Optional("status", c.status);
  f.Optional("reason", c.reason);
  f.Optional("message", c.message);
}
template <class F>
void Describe(F& f, DeviceStatus& d) {
  f.Required("driver", d.driver);
  f.Required("pool", d.pool);
  f.Required("device", d.device);
  f.Optional("conditions", d.conditions);
}

namespace {

struct Owner {
  std::string kind, name, uid;
};
template <class F>
void Describe(F& f, Owner& o) {
  f.Optional("kind", o.kind);
  f.Optional("name", o.name);
  f.Optional("uid", o.uid);
}

struct Metadata {
  std::string uid;
  std::map<std::string, std::string> labels;
  std::optional<std::string> deleted;
  std::vector<Owner> owners;
};
template <class F>
void Describe(F& f, Metadata& m) {
  f.Optional("uid", m.uid);
  f.Optional("labels", m.labels);
  f.Optional("deletionTimestamp", m.deleted);
  f.Optional("ownerReferences", m.owners);
}

struct ClaimStatus {
  std::vector<DeviceStatus> devices;
};
template <class F>
void Describe(F& f, ClaimStatus& s) {
  f.Optional("devices", s.devices);
}

struct ClaimObject {
  Metadata metadata;
  json::Value spec;
  ClaimStatus status;
};
template <class F>
void Describe(F& f, ClaimObject& c) {
  f.Optional("metadata", c.metadata);
  f.Required("spec", c.spec);
  f.Optional("status", c.status);
}

struct TemplateSpec {
  json::Value spec;
};
template <class F>
void Describe(F& f, TemplateSpec& s) {
  f.Required("spec", s.spec);
}
struct TemplateObject {
  TemplateSpec spec;
};
template <class F>
void Describe(F& f, TemplateObject& t) {
  f.Required("spec", t.spec);
}

struct MadeClaim {
  std::string name;
  std::optional<std::string> claim_name;
};
template <class F>
void Describe(F& f, MadeClaim& m) {
  f.Required("name", m.name);
  f.Optional("resourceClaimName", m.claim_name);
}

struct PodStatus {
  std::string phase;
  std::vector<MadeClaim> claims;
  std::vector<DeviceStatus::Condition> conditions;
};
template <class F>
void Describe(F& f, PodStatus& s) {
  f.Optional("phase", s.phase);
  f.Optional("resourceClaimStatuses", s.claims);
  f.Optional("conditions", s.conditions);
}

struct PodObject {
  Metadata metadata;
  json::Value spec;
  PodStatus status;
};
template <class F>
void Describe(F& f, PodObject& p) {
  f.Optional("metadata", p.metadata);
  f.Required("spec", p.spec);
  f.Optional("status", p.status);
}

struct TaintObject {
  std::string key, value, effect;
};
template <class F>
void Describe(F& f, TaintObject& t) {
  f.Required("key", t.key);
  f.Optional("value", t.value);
  f.Required("effect", t.effect);
}

struct NodeSpec {
  std::vector<TaintObject> taints;
};
template <class F>
void Describe(F& f, NodeSpec& s) {
  f.Optional("taints", s.taints);
}
struct NodeObject {
  Metadata metadata;
  NodeSpec spec;
};
template <class F>
void Describe(F& f, NodeObject& n) {
  f.Optional("metadata", n.metadata);
  f.Optional("spec", n.spec);
}

struct DevicePattern {
  std::optional<std::string> driver, pool, device;
};
template <class F>
void Describe(F& f, DevicePattern& p) {
  f.Optional("driver", p.driver);
  f.Optional("pool", p.pool);
  f.Optional("device", p.device);
}
struct RuleSpec {
  std::optional<DevicePattern> selector;
  TaintObject taint;
};
template <class F>
void Describe(F& f, RuleSpec& s) {
  f.Optional("deviceSelector", s.selector);
  f.Required("taint", s.taint);
}
struct RuleObject {
  RuleSpec spec;
};
template <class F>
void Describe(F& f, RuleObject& r) {
  f.Required("spec", r.spec);
}

struct Involved {
  std::string kind, namespace_name, name;
};
template <class F>
void Describe(F& f, Involved& i) {
  f.Optional("kind", i.kind);
  f.Optional("namespace", i.namespace_name);
  f.Optional("name", i.name);
}
struct Source {
  std::string component, host;
};
template <class F>
void Describe(F& f, Source& s) {
  f.Optional("component", s.component);
  f.Optional("host", s.host);
}
struct Series {
  std::int64_t count = 1;
  std::string last_seen;
};
template <class F>
void Describe(F& f, Series& s) {
  f.Optional("count", s.count);
  f.Optional("lastObservedTime", s.last_seen);
}
struct EventObject {
  Involved involved;
  std::string type, reason, message, first_seen, last_seen, event_time, reporter, reporter_instance;
  Source source;
  std::int64_t count = 1;
  std::optional<Series> series;
};
template <class F>
void Describe(F& f, EventObject& e) {
  f.Required("involvedObject", e.involved);
  f.Optional("type", e.type);
  f.Optional("reason", e.reason);
  f.Optional("message", e.message);
  f.Optional("firstTimestamp", e.first_seen);
  f.Optional("lastTimestamp", e.last_seen);
  f.Optional("eventTime", e.event_time);
  f.Optional("reportingComponent", e.reporter);
  f.Optional("reportingInstance", e.reporter_instance);
  f.Optional("source", e.source);
  f.Optional("count", e.count);
  f.Optional("series", e.series);
}

// What DecodeClaim() requires and people leave out.
json::Value Completed(json::Value value, const std::string& namespace_name) {
  json::Value* metadata = value.is_object() ? value.get_object().if_contains("metadata") : nullptr;
  if (metadata == nullptr || !metadata->is_object()) return value;
  json::Object& fields = metadata->get_object();
  fields["namespace"] = namespace_name;
  if (!fields.contains("uid")) fields["uid"] = "";
  if (!fields.contains("name")) fields["name"] = "";
  return value;
}

// A claim that was made from a template is owned by its pod.
void SetOwner(const std::vector<Owner>& owners, Claim& claim) {
  for (const Owner& owner : owners) {
    if (owner.kind != "Pod") continue;
    claim.owner_pod = owner.name;
    claim.owner_pod_uid = owner.uid;
  }
}

Result<void> AddClass(Objects& objects, const Manifest& manifest) {
  TESSERA_ASSIGN(api::DeviceClass object, api::DecodeDeviceClass(manifest.value));
  objects.classes.push_back({.origin = manifest.origin, .object = std::move(object)});
  return {};
}

Result<void> AddSlice(Objects& objects, const Manifest& manifest) {
  TESSERA_ASSIGN(api::ResourceSlice object, api::DecodeSlice(AsV1(manifest)));
  objects.slices.push_back({.origin = manifest.origin, .object = std::move(object)});
  return {};
}

std::string NamespaceOf(const Objects& objects, const Manifest& manifest) {
  return manifest.namespace_name.empty() ? objects.default_namespace : manifest.namespace_name;
}

Result<void> AddClaim(Objects& objects, const Manifest& manifest) {
  const json::Value value = AsV1(manifest);
  TESSERA_ASSIGN(ClaimObject object, json::Decode<ClaimObject>(value, json::Unknown::kIgnore));
  Claim claim{.origin = manifest.origin,
              .deleting = object.metadata.deleted.has_value(),
              .devices = std::move(object.status.devices)};
  TESSERA_ASSIGN(claim.object, api::DecodeClaim(Completed(value, NamespaceOf(objects, manifest))));
  TESSERA_ASSIGN(claim.spec, api::DecodeClaimSpec(object.spec));
  SetOwner(object.metadata.owners, claim);
  objects.claims.push_back(std::move(claim));
  return {};
}

Result<void> AddTemplate(Objects& objects, const Manifest& manifest) {
  TESSERA_ASSIGN(const TemplateObject object, json::Decode<TemplateObject>(AsV1(manifest), json::Unknown::kIgnore));
  TESSERA_ASSIGN(api::ClaimSpec spec, api::DecodeClaimSpec(object.spec.spec));
  objects.templates.push_back({.origin = manifest.origin,
                               .namespace_name = NamespaceOf(objects, manifest),
                               .name = manifest.name,
                               .spec = std::move(spec)});
  return {};
}

api::Taint ToTaint(TaintObject taint) {
  return {.key = std::move(taint.key), .value = std::move(taint.value), .effect = std::move(taint.effect)};
}

Result<void> AddTaintRule(Objects& objects, const Manifest& manifest) {
  TESSERA_ASSIGN(RuleObject object, json::Decode<RuleObject>(manifest.value, json::Unknown::kIgnore));
  DevicePattern selector = object.spec.selector.value_or(DevicePattern());
  objects.taint_rules.push_back({.origin = manifest.origin,
                                 .name = manifest.name,
                                 .has_selector = object.spec.selector.has_value(),
                                 .driver = std::move(selector.driver),
                                 .pool = std::move(selector.pool),
                                 .device = std::move(selector.device),
                                 .taint = ToTaint(std::move(object.spec.taint))});
  return {};
}

Result<void> AddNode(Objects& objects, const Manifest& manifest) {
  TESSERA_ASSIGN(NodeObject object, json::Decode<NodeObject>(manifest.value, json::Unknown::kIgnore));
  Node& node = objects.nodes.emplace_back(manifest.origin, manifest.name, std::move(object.metadata.labels));
  for (TaintObject& taint : object.spec.taints) node.taints.push_back(ToTaint(std::move(taint)));
  return {};
}

Result<void> AddPod(Objects& objects, const Manifest& manifest) {
  TESSERA_ASSIGN(PodObject object, json::Decode<PodObject>(manifest.value, json::Unknown::kIgnore));
  Pod pod{.origin = manifest.origin,
          .namespace_name = NamespaceOf(objects, manifest),
          .name = manifest.name,
          .uid = std::move(object.metadata.uid),
          .deleting = object.metadata.deleted.has_value(),
          .phase = std::move(object.status.phase)};
  TESSERA_ASSIGN(pod.spec, DecodePodSpec(object.spec, "spec"));
  for (MadeClaim& made : object.status.claims) pod.made_claims.emplace(made.name, std::move(made.claim_name));
  for (DeviceStatus::Condition& condition : object.status.conditions) {
    if (condition.type != "PodScheduled" || condition.status != "False") continue;
    pod.unscheduled_message = std::move(condition.message);
  }
  objects.pods.push_back(std::move(pod));
  return {};
}

Result<void> AddWorkload(Objects& objects, const Manifest& manifest) {
  const std::string_view path = PodSpecPath(manifest.kind);
  const json::Value* at = &manifest.value;
  for (const std::string_view key : Split(path, '.')) {
    const json::Object* object = at->if_object();
    at = object != nullptr ? object->if_contains(key) : nullptr;
    if (at == nullptr) return BadConfig("BadField", Format("{}: required field is missing", path));
  }
  TESSERA_ASSIGN(PodSpec spec, DecodePodSpec(*at, path));
  objects.workloads.push_back({.origin = manifest.origin,
                               .kind = manifest.kind,
                               .namespace_name = NamespaceOf(objects, manifest),
                               .name = manifest.name,
                               .pod = std::move(spec)});
  return {};
}

// Of several times and counts, the one that the recorder kept up to date.
Result<void> AddEvent(Objects& objects, const Manifest& manifest) {
  TESSERA_ASSIGN(EventObject object, json::Decode<EventObject>(manifest.value, json::Unknown::kIgnore));
  Event event{.kind = std::move(object.involved.kind),
              .namespace_name = std::move(object.involved.namespace_name),
              .name = std::move(object.involved.name),
              .type = std::move(object.type),
              .reason = std::move(object.reason),
              .message = std::move(object.message),
              .component = object.source.component.empty() ? object.reporter : object.source.component,
              .host = object.source.host.empty() ? object.reporter_instance : object.source.host,
              .count = object.count};
  if (object.series) event.count = object.series->count;
  std::string series_time = object.series ? object.series->last_seen : std::string();
  for (const std::string* time : {&series_time, &object.last_seen, &object.event_time, &object.first_seen}) {
    if (event.last_seen.empty()) event.last_seen = *time;
  }
  objects.events.push_back(std::move(event));
  return {};
}

using Adder = Result<void> (*)(Objects&, const Manifest&);

// Null for kinds that nobody asks for. Other groups may have kinds of the same names.
Adder AdderOf(const Manifest& manifest) {
  static const std::map<std::pair<std::string_view, std::string_view>, Adder> kAdders{
      {{"resource.k8s.io", "DeviceClass"}, AddClass},
      {{"resource.k8s.io", "DeviceTaintRule"}, AddTaintRule},
      {{"resource.k8s.io", "ResourceClaim"}, AddClaim},
      {{"resource.k8s.io", "ResourceClaimTemplate"}, AddTemplate},
      {{"resource.k8s.io", "ResourceSlice"}, AddSlice},
      {{"", "Event"}, AddEvent},
      {{"", "Node"}, AddNode},
      {{"", "Pod"}, AddPod},
      {{"apps", "Deployment"}, AddWorkload},
      {{"apps", "StatefulSet"}, AddWorkload},
      {{"apps", "DaemonSet"}, AddWorkload},
      {{"apps", "ReplicaSet"}, AddWorkload},
      {{"batch", "Job"}, AddWorkload},
      {{"batch", "CronJob"}, AddWorkload},
  };
  const auto cut = Cut(manifest.api_version, "/");
  const auto found = kAdders.find({cut ? cut->first : std::string_view(), manifest.kind});
  return found != kAdders.end() ? found->second : nullptr;
}

// "claims.yaml, document 2, line 14: ResourceClaim default/a: spec.devices…". The line is the first faulty field's.
Error Located(const Manifest& manifest, const Error& error) {
  const auto path = Cut(error.message(), ": ");
  const std::string where = ToText(manifest.At(path ? path->first : std::string_view()));
  const std::string what = Format("{} {}: {}", manifest.kind, manifest.name, error.message());
  return {error.kind(), "BadManifest", where.empty() ? what : Format("{}: {}", where, what), error.advice()};
}

}  // namespace

Result<void> Objects::Add(const Manifest& manifest) {
  const Adder add = AdderOf(manifest);
  if (add == nullptr) {
    others.push_back({.origin = manifest.origin,
                      .kind = manifest.kind,
                      .namespace_name = manifest.namespace_name,
                      .name = manifest.name});
    return {};
  }
  if (const auto added = add(*this, manifest); !added.has_value()) {
    return std::unexpected(Located(manifest, added.error()));
  }
  return {};
}

Result<void> ReadInto(Objects& objects, const std::string& file) {
  TESSERA_ASSIGN(const std::vector<Manifest> manifests, ReadManifests(file));
  for (const Manifest& manifest : manifests) TESSERA_TRY(objects.Add(manifest));
  return {};
}

}  // namespace tessera::manifests
