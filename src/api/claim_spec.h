// api/claim_spec.h: what a ResourceClaim asks for, and the DeviceClasses it names; v1 and v1beta2 of resource.k8s.io.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quantity.h"
#include "json/value.h"

namespace tessera::api {

struct Selector {
  std::optional<std::string> cel;  // Absent: a kind of selector that we do not know.

  bool operator==(const Selector&) const = default;
};

struct Toleration {
  std::string key, op, value, effect;
  std::optional<std::int64_t> toleration_seconds;

  bool operator==(const Toleration&) const = default;
};

// `exactly`, or one of `firstAvailable`; only that one has a name.
struct DeviceRequest {
  std::string name;
  std::string device_class;
  std::vector<Selector> selectors;
  std::string allocation_mode = "ExactCount";  // Or "All".
  std::int64_t count = 1;
  std::optional<bool> admin_access;
  std::vector<Toleration> tolerations;
  std::optional<std::map<std::string, Quantity>> capacity;  // Keys as the slice spells them.
  bool has_derived_attributes = false;                      // Alpha in 1.37; what they are is not read.
};

struct ClaimRequest {
  std::string name;
  std::optional<DeviceRequest> exactly;
  std::vector<DeviceRequest> first_available;  // In the order of preference.
};

struct Constraint {
  std::vector<std::string> requests;  // "main" or "main/sub"; empty: all.
  std::optional<std::string> match_attribute, distinct_attribute;
};

// A config of a claim or, without requests, of a class.
struct RequestConfig {
  std::vector<std::string> requests;  // Empty: all.
  std::string driver;                 // Empty when it is not opaque.
  json::Value parameters;
};

struct ClaimSpec {
  std::vector<ClaimRequest> requests;
  std::vector<Constraint> constraints;
  std::vector<RequestConfig> configs;
};

struct DeviceClass {
  std::string name;
  std::vector<Selector> selectors;
  std::vector<RequestConfig> configs;
};

// `spec` of a claim, or `spec.spec` of a template. Unknown fields are ignored, because a newer server may send them. An
// error names the field.
Result<ClaimSpec> DecodeClaimSpec(const json::Value& spec);
Result<DeviceClass> DecodeDeviceClass(const json::Value& value);

// For json/decode.h.
template <class F>
void Describe(F& f, Toleration& t) {
  f.Optional("key", t.key);
  f.Optional("operator", t.op);
  f.Optional("value", t.value);
  f.Optional("effect", t.effect);
  f.Optional("tolerationSeconds", t.toleration_seconds);
}

}  // namespace tessera::api
