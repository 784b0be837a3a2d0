#include "api/claim_spec.h"

#include <utility>

#include "api/opaque.h"
#include "json/decode.h"

namespace tessera::api {
namespace {

struct Cel {
  std::string expression;
};
template <class F>
void Describe(F& f, Cel& c) {
  f.Required("expression", c.expression);
}

struct SelectorObject {
  std::optional<Cel> cel;
};
template <class F>
void Describe(F& f, SelectorObject& s) {
  f.Optional("cel", s.cel);
}

struct Capacity {
  std::map<std::string, Quantity> requests;
};
template <class F>
void Describe(F& f, Capacity& c) {
  f.Optional("requests", c.requests);
}

struct RequestObject {
  std::string name, device_class;
  std::vector<SelectorObject> selectors;
  std::string allocation_mode = "ExactCount";
  std::int64_t count = 1;
  std::optional<bool> admin_access;
  std::vector<Toleration> tolerations;
  std::optional<Capacity> capacity;
  std::vector<json::Value> derived_attributes;
};
template <class F>
void Describe(F& f, RequestObject& r) {
  f.Optional("name", r.name);
  f.Optional("deviceClassName", r.device_class);
  f.Optional("selectors", r.selectors);
  f.Optional("allocationMode", r.allocation_mode);
  f.Optional("count", r.count);
  f.Optional("adminAccess", r.admin_access);
  f.Optional("tolerations", r.tolerations);
  f.Optional("capacity", r.capacity);
  f.Optional("derivedAttributes", r.derived_attributes);
}

struct ClaimRequestObject {
  std::string name;
  std::optional<RequestObject> exactly;
  std::vector<RequestObject> first_available;
};
template <class F>
void Describe(F& f, ClaimRequestObject& r) {
  f.Required("name", r.name);
  f.Optional("exactly", r.exactly);
  f.Optional("firstAvailable", r.first_available);
}

struct ConfigObject {
  std::vector<std::string> requests;
  std::optional<Opaque> opaque;
};
template <class F>
void Describe(F& f, ConfigObject& c) {
  f.Optional("requests", c.requests);
  f.Optional("opaque", c.opaque);
}

struct Devices {
  std::vector<ClaimRequestObject> requests;
  std::vector<Constraint> constraints;
  std::vector<ConfigObject> config;
};

struct ClassSpec {
  std::vector<SelectorObject> selectors;
  std::vector<ConfigObject> config;
};
template <class F>
void Describe(F& f, ClassSpec& s) {
  f.Optional("selectors", s.selectors);
  f.Optional("config", s.config);
}

struct Metadata {
  std::string name;
};
template <class F>
void Describe(F& f, Metadata& m) {
  f.Required("name", m.name);
}

struct ClassObject {
  Metadata metadata;
  ClassSpec spec;
};
template <class F>
void Describe(F& f, ClassObject& o) {
  f.Required("metadata", o.metadata);
  f.Optional("spec", o.spec);
}

std::vector<Selector> Selectors(std::vector<SelectorObject> objects) {
  std::vector<Selector> selectors;
  for (SelectorObject& object : objects) {
    Selector& added = selectors.emplace_back();
    if (object.cel) added.cel = std::move(object.cel->expression);
  }
  return selectors;
}

std::vector<RequestConfig> Configs(std::vector<ConfigObject> objects) {
  std::vector<RequestConfig> configs;
  for (ConfigObject& object : objects) {
    RequestConfig& added = configs.emplace_back();
    added.requests = std::move(object.requests);
    if (!object.opaque) continue;
    added.driver = std::move(object.opaque->driver);
    added.parameters = std::move(object.opaque->parameters);
  }
  return configs;
}

DeviceRequest Request(RequestObject object) {
  DeviceRequest request{.name = std::move(object.name),
                        .device_class = std::move(object.device_class),
                        .selectors = Selectors(std::move(object.selectors)),
                        .allocation_mode = std::move(object.allocation_mode),
                        .count = object.count,
                        .admin_access = object.admin_access,
                        .tolerations = std::move(object.tolerations),
                        .has_derived_attributes = !object.derived_attributes.empty()};
  if (object.capacity) request.capacity = std::move(object.capacity->requests);
  return request;
}

}  // namespace

template <class F>
void Describe(F& f, Constraint& c) {
  f.Optional("requests", c.requests);
  f.Optional("matchAttribute", c.match_attribute);
  f.Optional("distinctAttribute", c.distinct_attribute);
}

namespace {

template <class F>
void Describe(F& f, Devices& d) {
  f.Optional("requests", d.requests);
  f.Optional("constraints", d.constraints);
  f.Optional("config", d.config);
}

struct SpecObject {
  Devices devices;
};
template <class F>
void Describe(F& f, SpecObject& s) {
  f.Optional("devices", s.devices);
}

}  // namespace

Result<ClaimSpec> DecodeClaimSpec(const json::Value& spec) {
  TESSERA_ASSIGN(SpecObject object, json::Decode<SpecObject>(spec, json::Unknown::kIgnore, "spec"));
  ClaimSpec claim{.constraints = std::move(object.devices.constraints),
                  .configs = Configs(std::move(object.devices.config))};
  for (ClaimRequestObject& request : object.devices.requests) {
    ClaimRequest& added = claim.requests.emplace_back();
    added.name = std::move(request.name);
    if (request.exactly) added.exactly = Request(*std::move(request.exactly));
    for (RequestObject& sub : request.first_available) added.first_available.push_back(Request(std::move(sub)));
  }
  return claim;
}

Result<DeviceClass> DecodeDeviceClass(const json::Value& value) {
  TESSERA_ASSIGN(ClassObject object, json::Decode<ClassObject>(value, json::Unknown::kIgnore));
  return DeviceClass{.name = std::move(object.metadata.name),
                     .selectors = Selectors(std::move(object.spec.selectors)),
                     .configs = Configs(std::move(object.spec.config))};
}

}  // namespace tessera::api
