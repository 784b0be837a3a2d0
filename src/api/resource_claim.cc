#include "api/resource_claim.h"

#include "api/opaque.h"
#include "base/text.h"
#include "json/decode.h"

namespace tessera::api {

template <class F>
void Describe(F& f, AllocationResult& r) {
  f.Required("request", r.request);
  f.Required("driver", r.driver);
  f.Required("pool", r.pool);
  f.Required("device", r.device);
  std::optional<bool> admin = r.admin_access ? std::optional(true) : std::nullopt;  // Written only when it is true.
  f.Optional("adminAccess", admin);
  if (admin && *admin != r.admin_access) r.admin_access = *admin;
  f.Optional("shareID", r.share_id);
  f.Optional("tolerations", r.tolerations);
  f.Optional("consumedCapacity", r.consumed_capacity);
  f.Optional("bindingConditions", r.binding_conditions);
  f.Optional("bindingFailureConditions", r.binding_failure_conditions);
}

namespace {

struct Config {
  std::string source;
  std::vector<std::string> requests;
  std::optional<Opaque> opaque;
};
template <class F>
void Describe(F& f, Config& c) {
  f.Required("source", c.source);
  f.Optional("requests", c.requests);
  f.Optional("opaque", c.opaque);
}

struct Devices {
  std::vector<AllocationResult> results;
  std::vector<Config> config;
};
template <class F>
void Describe(F& f, Devices& d) {
  f.Optional("results", d.results);
  f.Optional("config", d.config);
}

struct AllocationObject {
  Devices devices;
  std::optional<NodeSelector> node_selector;
};
template <class F>
void Describe(F& f, AllocationObject& a) {
  f.Optional("devices", a.devices);
  f.Optional("nodeSelector", a.node_selector);
}

struct Consumer {
  std::string resource, name;
};
template <class F>
void Describe(F& f, Consumer& c) {
  f.Optional("resource", c.resource);
  f.Optional("name", c.name);
}

struct Status {
  json::Value allocation;
  std::vector<Consumer> reserved_for;
  json::Value devices;  // Drivers write them; whatever they wrote must not keep a claim from being prepared.
};
template <class F>
void Describe(F& f, Status& s) {
  f.Optional("allocation", s.allocation);
  f.Optional("reservedFor", s.reserved_for);
  f.Optional("devices", s.devices);
}

struct Metadata {
  std::string name, namespace_name, uid, resource_version;
};
template <class F>
void Describe(F& f, Metadata& m) {
  f.Required("name", m.name);
  f.Required("namespace", m.namespace_name);
  f.Required("uid", m.uid);
  f.Optional("resourceVersion", m.resource_version);
}

struct Object {
  Metadata metadata;
  Status status;
};
template <class F>
void Describe(F& f, Object& o) {
  f.Required("metadata", o.metadata);
  f.Optional("status", o.status);
}

Result<Allocation> DecodeAllocation(const json::Value& value) {
  TESSERA_ASSIGN(AllocationObject object,
                 json::Decode<AllocationObject>(value, json::Unknown::kIgnore, "status.allocation"));
  Allocation allocation{.results = std::move(object.devices.results), .node_selector = std::move(object.node_selector)};
  for (Config& config : object.devices.config) {
    AllocationConfig& added = allocation.configs.emplace_back(std::move(config.source), std::move(config.requests));
    if (!config.opaque) continue;
    added.driver = std::move(config.opaque->driver);
    added.parameters = std::move(config.opaque->parameters);
  }
  return allocation;
}

}  // namespace

json::Value ToJson(const Allocation& allocation) {
  AllocationObject object{.devices = {.results = allocation.results}, .node_selector = allocation.node_selector};
  for (const AllocationConfig& config : allocation.configs) {
    Config& added = object.devices.config.emplace_back(config.source, config.requests);
    if (!config.driver.empty()) added.opaque = Opaque{.driver = config.driver, .parameters = config.parameters};
  }
  return json::Encode(object);
}

std::string_view MainRequest(std::string_view request) { return request.substr(0, request.find('/')); }

Result<ResourceClaim> DecodeClaim(const json::Value& value) {
  TESSERA_ASSIGN(Object object, json::Decode<Object>(value, json::Unknown::kIgnore));
  ResourceClaim claim{.ref = {.namespace_name = std::move(object.metadata.namespace_name),
                              .name = std::move(object.metadata.name),
                              .uid = std::move(object.metadata.uid)},
                      .resource_version = std::move(object.metadata.resource_version)};
  if (!object.status.allocation.is_null()) {
    TESSERA_ASSIGN(claim.allocation, DecodeAllocation(object.status.allocation));
    claim.raw_allocation = std::move(object.status.allocation);
  }
  claim.raw_devices = std::move(object.status.devices);
  for (const Consumer& consumer : object.status.reserved_for) {
    const bool pod = consumer.resource == "pods";
    claim.reserved_for.push_back(Format("{}/{}", pod ? claim.ref.namespace_name : consumer.resource, consumer.name));
  }
  return claim;
}

}  // namespace tessera::api
