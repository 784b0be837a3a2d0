#include "tests/alloc/case_file.h"

#include <map>
#include <tuple>

#include "base/fd.h"
#include "base/text.h"
#include "json/decode.h"
#include "tests/support/paths.h"

namespace tessera::tests {
namespace {

using Names = std::vector<std::string>;

struct ShortClaim {
  std::string name = "c";
  json::Value requests, constraints, config;
};
template <class F>
void Describe(F& f, ShortClaim& c) {
  f.Optional("name", c.name);
  f.Required("requests", c.requests);
  f.Optional("constraints", c.constraints);
  f.Optional("config", c.config);
}

struct ShortClass {
  std::string name;
  Names selectors;
  json::Value config;
};
template <class F>
void Describe(F& f, ShortClass& c) {
  f.Required("name", c.name);
  f.Optional("selectors", c.selectors);
  f.Optional("config", c.config);
}

struct ShortSlice {
  std::string name = "s", driver = "d", pool = "p";
  std::int64_t generation = 1;
  std::optional<std::int64_t> of;  // The slices of the pool; when absent, those of the case.
  std::optional<std::string> node_name;
  json::Value all_nodes, node_selector, per_device, devices, counters;
};
template <class F>
void Describe(F& f, ShortSlice& s) {
  f.Optional("name", s.name);
  f.Optional("driver", s.driver);
  f.Optional("pool", s.pool);
  f.Optional("generation", s.generation);
  f.Optional("of", s.of);
  f.Optional("nodeName", s.node_name);
  f.Optional("allNodes", s.all_nodes);
  f.Optional("nodeSelector", s.node_selector);
  f.Optional("perDeviceNodeSelection", s.per_device);
  f.Optional("devices", s.devices);
  f.Optional("sharedCounters", s.counters);
}

struct Document {
  std::string name, want, error;
  Names releases{"1.36", "1.37"};
  std::map<std::string, std::string> labels;
  std::map<std::string, bool> gates;
  std::vector<ShortClass> classes;
  std::vector<ShortSlice> slices;
  std::vector<json::Value> held;
  std::vector<ShortClaim> claims;
  std::optional<std::string> details;
  std::optional<std::uint64_t> steps;
};
template <class F>
void Describe(F& f, Document& d) {
  f.Required("case", d.name);
  f.Optional("releases", d.releases);
  f.Optional("labels", d.labels);
  f.Optional("gates", d.gates);
  f.Optional("classes", d.classes);
  f.Required("slices", d.slices);
  f.Optional("held", d.held);
  f.Required("claims", d.claims);
  f.Optional("want", d.want);
  f.Optional("error", d.error);
  f.Optional("details", d.details);
  f.Optional("steps", d.steps);
}

void Set(json::Object& object, std::string_view key, const json::Value& value) {
  if (!value.is_null()) object[key] = value;
}

// A device that is just a name.
json::Array Devices(const json::Array& devices) {
  json::Array out;
  for (const json::Value& device : devices) {
    out.push_back(device.is_string() ? json::Value(json::Object{{"name", device}}) : device);
  }
  return out;
}

json::Object Slice(const ShortSlice& slice, std::int64_t count) {
  json::Object spec{
      {"driver", slice.driver},
      {"pool",
       {{"name", slice.pool}, {"generation", slice.generation}, {"resourceSliceCount", slice.of.value_or(count)}}}};
  const bool elsewhere = !slice.all_nodes.is_null() || !slice.node_selector.is_null() || !slice.per_device.is_null();
  if (!elsewhere) spec["nodeName"] = slice.node_name.value_or("n");
  Set(spec, "allNodes", slice.all_nodes);
  Set(spec, "nodeSelector", slice.node_selector);
  Set(spec, "perDeviceNodeSelection", slice.per_device);
  Set(spec, "sharedCounters", slice.counters);
  if (slice.devices.is_array()) spec["devices"] = Devices(slice.devices.get_array());
  return {{"metadata", {{"name", slice.name}}}, {"spec", std::move(spec)}};
}

json::Array Slices(const std::vector<ShortSlice>& slices) {
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::int64_t> counts;
  for (const ShortSlice& slice : slices) ++counts[{slice.driver, slice.pool, slice.generation}];
  json::Array out;
  for (const ShortSlice& slice : slices)
    out.push_back(Slice(slice, counts[{slice.driver, slice.pool, slice.generation}]));
  return out;
}

json::Object Class(const ShortClass& device_class) {
  json::Array selectors;
  for (const std::string& text : device_class.selectors) {
    selectors.push_back(json::Object{{"cel", {{"expression", text}}}});
  }
  json::Object spec{{"selectors", std::move(selectors)}};
  Set(spec, "config", device_class.config);
  return {{"metadata", {{"name", device_class.name}}}, {"spec", std::move(spec)}};
}

// What the API server fills in.
void Default(json::Object& request) {
  if (!request.contains("deviceClassName")) request["deviceClassName"] = "any";
  if (!request.contains("allocationMode")) request["allocationMode"] = "ExactCount";
  if (request.at("allocationMode") == "ExactCount" && !request.contains("count")) request["count"] = 1;
  const json::Value* selectors = request.if_contains("selectors");
  if (selectors == nullptr) return;
  json::Array full;
  for (const json::Value& selector : selectors->as_array()) {
    full.push_back(selector.is_string() ? json::Value{{"cel", {{"expression", selector}}}} : selector);
  }
  request["selectors"] = std::move(full);
}

json::Object Claim(const ShortClaim& claim) {
  json::Array requests;
  for (json::Value request : claim.requests.as_array()) {
    json::Object& object = request.as_object();
    if (json::Value* subs = object.if_contains("firstAvailable")) {
      for (json::Value& sub : subs->as_array()) Default(sub.as_object());
    } else {
      Default(object["exactly"].is_null() ? object["exactly"].emplace_object() : object["exactly"].as_object());
    }
    requests.push_back(std::move(request));
  }
  json::Object devices{{"requests", std::move(requests)}};
  Set(devices, "constraints", claim.constraints);
  Set(devices, "config", claim.config);
  return {{"metadata", {{"name", claim.name}, {"namespace", "default"}, {"uid", claim.name}}},
          {"spec", {{"devices", std::move(devices)}}}};
}

// "driver/pool/device", or a result as it stands in a claim's status.
json::Value Held(const json::Value& held) {
  if (!held.is_string()) return held;
  const std::string text(held.get_string());
  const auto parts = Split(text, '/');
  return json::Object{{"request", "r"}, {"driver", parts.at(0)}, {"pool", parts.at(1)}, {"device", parts.at(2)}};
}

json::Value Problem(const Document& document) {
  json::Object metadata{{"name", "n"}};
  if (!document.labels.empty()) metadata["labels"] = json::Encode(document.labels);
  json::Array classes{Class({.name = "any"})};
  for (const ShortClass& device_class : document.classes) classes.push_back(Class(device_class));
  json::Array allocated;
  for (const json::Value& held : document.held) allocated.push_back(Held(held));
  json::Array claims;
  for (const ShortClaim& claim : document.claims) claims.push_back(Claim(claim));
  return json::Object{{"node", {{"metadata", std::move(metadata)}}},
                      {"classes", std::move(classes)},
                      {"slices", Slices(document.slices)},
                      {"allocated", std::move(allocated)},
                      {"claims", std::move(claims)},
                      {"gates", json::Encode(document.gates)}};
}

}  // namespace

Result<std::vector<AllocationCase>> ReadCases(const std::string& file) {
  const std::string path = Format("{}/tests/testdata/alloc/{}", TESSERA_SOURCE_DIR, file);
  TESSERA_ASSIGN(const std::string text, ReadFile(path));
  TESSERA_ASSIGN(const auto values, json::ParseYaml(text));
  std::vector<AllocationCase> cases;
  for (const json::Value& value : values) {
    TESSERA_ASSIGN(Document document, json::Decode<Document>(value, json::Unknown::kReject, file));
    cases.push_back({.name = document.name,
                     .releases = document.releases,
                     .problem = Problem(document),
                     .want = document.want,
                     .error = document.error,
                     .details = document.details,
                     .steps = document.steps});
  }
  return cases;
}

}  // namespace tessera::tests
