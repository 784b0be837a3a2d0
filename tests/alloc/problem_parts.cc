#include "tests/alloc/problem_parts.h"

#include <array>

#include "base/text.h"

namespace tessera::tests {
namespace {

constexpr std::array<std::string_view, 3> kTaintEffects{"NoSchedule", "NoExecute", "None"};
constexpr std::array<std::string_view, 3> kClasses{"any", "gpu", "own"};

json::Object Cel(std::string_view expression) { return One("cel", One("expression", expression)); }

json::Object Opaque(std::string_view driver, std::int64_t number) {
  return One("opaque", json::Object{{"driver", driver}, {"parameters", One("n", number)}});
}

json::Object Hold(Dice& dice, const json::Object& spec, const json::Object& device, std::size_t number) {
  json::Object result{{"request", "r"},
                      {"driver", spec.at("driver")},
                      {"pool", spec.at("pool").at("name")},
                      {"device", device.at("name")}};
  if (device.contains("allowMultipleAllocations") && dice.Chance(80)) {
    result["shareID"] = Format("00000000-0000-4000-8000-{:012}", number);
    if (device.contains("capacity")) result["consumedCapacity"] = One("memory", dice.Chance(50) ? "8Gi" : "16Gi");
  } else if (dice.Chance(10)) {
    result["adminAccess"] = true;
  }
  return result;
}

}  // namespace

Flavour RollFlavour(Dice& dice) {
  return {.partitions = dice.Chance(30),
          .shares = dice.Chance(30),
          .taints = dice.Chance(35),
          .constraints = dice.Chance(50),
          .alternatives = dice.Chance(45),
          .admin = dice.Chance(25),
          .several_nodes = dice.Chance(30),
          .odd_pools = dice.Chance(12),
          .held = dice.Chance(50)};
}

json::Object One(std::string_view key, json::Value value) { return {{key, std::move(value)}}; }
json::Object One(std::string_view key, std::string_view text) { return {{key, text}}; }
json::Object One(std::string_view key, const char* text) { return {{key, text}}; }

void MaybeTaint(Dice& dice, json::Object& device) {
  if (!dice.Chance(35)) return;
  device["taints"] = json::Array{
      json::Object{{"key", dice.Chance(50) ? "unhealthy" : "x.io/busy"}, {"effect", dice.Pick(kTaintEffects)}}};
}

json::Object RollPolicy(Dice& dice) {
  json::Object policy{{"default", "8Gi"}};
  if (dice.Chance(50)) {
    policy["validValues"] = json::Array{"4Gi", "8Gi", "16Gi"};
  } else {
    json::Object range{{"min", "4Gi"}};
    if (dice.Chance(60)) range["step"] = "4Gi";
    if (dice.Chance(50)) range["max"] = "20Gi";
    policy["validRange"] = std::move(range);
  }
  return policy;
}

json::Array HoldSome(Dice& dice, const json::Array& slices) {
  json::Array held;
  for (const json::Value& slice : slices) {
    const json::Object& spec = slice.at("spec").as_object();
    if (!spec.contains("devices")) continue;
    for (const json::Value& device : spec.at("devices").as_array()) {
      if (dice.Chance(15)) held.push_back(Hold(dice, spec, device.as_object(), held.size()));
    }
  }
  return held;
}

json::Array ClaimGenerator::MakeClaims() {
  const std::size_t count = dice_.Chance(60) ? 1 : dice_.From(2, 3);
  json::Array claims;
  for (std::size_t i = 0; i < count; ++i) claims.push_back(MakeClaim(i));
  return claims;
}

json::Array ClaimGenerator::MakeClasses() {
  json::Array classes;
  const auto add = [&](std::string_view name, json::Array selectors, json::Array config) {
    classes.push_back(json::Object{{"metadata", {{"name", name}}},
                                   {"spec", {{"selectors", std::move(selectors)}, {"config", std::move(config)}}}});
  };
  const std::string_view driver = words_.driver;
  add("any", {}, {});
  add("gpu", {Cel(Format("device.attributes['{}'].?type.orValue('gpu') == 'gpu'", driver))},
      {Opaque(driver, 1), Opaque("b.x", 2)});
  add("mig", {Cel(Format("device.attributes['{}'].?type.orValue('') == 'mig'", driver))}, {});
  add("own", {Cel(Format("device.driver == '{}'", driver)), Cel(PickSelector())}, {Opaque(driver, 3)});
  return classes;
}

json::Object ClaimGenerator::MakeClaim(std::size_t number) {
  json::Array requests;
  std::vector<std::string> names;
  const std::size_t count = dice_.Chance(55) ? 1 : dice_.From(2, 3);
  for (std::size_t i = 0; i < count; ++i) requests.push_back(MakeRequest(i, names));
  json::Object devices{{"requests", std::move(requests)}};
  if (flavour_.constraints) devices["constraints"] = MakeConstraints(names);
  if (dice_.Chance(25)) devices["config"] = MakeConfig(names);
  return {{"metadata", {{"name", Format("c{}", number)}, {"namespace", "default"}, {"uid", Format("u{}", number)}}},
          {"spec", One("devices", std::move(devices))}};
}

json::Object ClaimGenerator::MakeRequest(std::size_t number, std::vector<std::string>& names) {
  const std::string name = Format("r{}", number);
  names.push_back(name);
  json::Object request{{"name", name}};
  if (!flavour_.alternatives || !dice_.Chance(45)) {
    request["exactly"] = MakeDeviceRequest(true);
    return request;
  }
  json::Array alternatives;
  const std::size_t count = dice_.From(1, 3);
  for (std::size_t i = 0; i < count; ++i) {
    json::Object alternative = MakeDeviceRequest(false);
    const std::string sub = Format("s{}", i);
    alternative["name"] = sub;
    names.push_back(Format("{}/{}", name, sub));
    alternatives.push_back(std::move(alternative));
  }
  request["firstAvailable"] = std::move(alternatives);
  return request;
}

std::string_view ClaimGenerator::PickSelector() {
  return dice_.Chance(10) ? dice_.Pick(words_.careless) : dice_.Pick(words_.selectors);
}

std::string_view ClaimGenerator::PickClass() {
  if (dice_.Below(300) == 0) return "missing";
  return dice_.Chance(flavour_.partitions ? 40 : 2) ? "mig" : dice_.Pick(kClasses);
}

json::Object ClaimGenerator::MakeDeviceRequest(bool exactly) {
  json::Object request{{"deviceClassName", PickClass()}};
  if (dice_.Chance(40)) {
    json::Array selectors;
    const std::size_t count = dice_.From(1, 2);
    for (std::size_t i = 0; i < count; ++i) selectors.push_back(Cel(PickSelector()));
    request["selectors"] = std::move(selectors);
  }
  // The API server's defaults: the oracle has no API server.
  if (dice_.Chance(8)) {
    request["allocationMode"] = "All";
  } else {
    request["allocationMode"] = "ExactCount";
    request["count"] = PickCount();
  }
  if (exactly && flavour_.admin && dice_.Chance(40)) request["adminAccess"] = dice_.Chance(90);
  if (flavour_.taints && dice_.Chance(40)) request["tolerations"] = json::Array{MakeToleration()};
  if (flavour_.shares && dice_.Chance(50)) request["capacity"] = One("requests", MakeAmounts());
  return request;
}

std::int64_t ClaimGenerator::PickCount() {
  if (dice_.Below(300) == 0) return 33;  // More than a claim may have.
  return dice_.Chance(60) ? 1 : dice_.Pick(words_.counts);
}

json::Object ClaimGenerator::MakeToleration() {
  json::Object toleration{{"operator", dice_.Chance(70) ? "Exists" : "Equal"}};
  if (dice_.Chance(60)) toleration["key"] = dice_.Chance(50) ? "unhealthy" : "x.io/busy";
  if (dice_.Chance(30)) toleration["effect"] = dice_.Pick(kTaintEffects);
  return toleration;
}

json::Object ClaimGenerator::MakeAmounts() {
  constexpr std::array<std::string_view, 6> kAmounts{"1Gi", "4Gi", "6Gi", "16Gi", "20Gi", "100Gi"};
  const auto amount = dice_.Pick(kAmounts);  // One roll a statement: compilers differ in the order of arguments.
  return One(dice_.Chance(96) ? "memory" : "bandwidth", amount);
}

json::Array ClaimGenerator::Subset(const std::vector<std::string>& names) {
  json::Array subset;
  if (dice_.Chance(50)) return subset;
  for (const std::string& name : names) {
    if (dice_.Chance(50)) subset.push_back(json::Value(name));
  }
  return subset;
}

json::Array ClaimGenerator::MakeConstraints(const std::vector<std::string>& names) {
  json::Array constraints;
  const std::size_t count = dice_.Chance(75) ? 1 : 2;
  for (std::size_t i = 0; i < count; ++i) {
    json::Object constraint{{dice_.Chance(65) ? "matchAttribute" : "distinctAttribute", dice_.Pick(words_.attributes)}};
    if (json::Array subset = Subset(names); !subset.empty()) constraint["requests"] = std::move(subset);
    constraints.push_back(std::move(constraint));
  }
  return constraints;
}

json::Array ClaimGenerator::MakeConfig(const std::vector<std::string>& names) {
  json::Array configs;
  const std::size_t count = dice_.From(1, 2);
  for (std::size_t i = 0; i < count; ++i) {
    json::Object config = Opaque(words_.driver, static_cast<std::int64_t>(10 + i));
    if (json::Array subset = Subset(names); !subset.empty()) config["requests"] = std::move(subset);
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace tessera::tests
