#include "tests/standin/convert.h"

#include "base/clock.h"
#include "base/text.h"

namespace tessera::standin {
namespace {

// The array at spec.<name>, or null.
json::Array* SpecArray(json::Object& object, std::string_view name) {
  json::Value* spec = object.if_contains("spec");
  json::Value* list = spec && spec->is_object() ? spec->as_object().if_contains(name) : nullptr;
  return list ? list->if_array() : nullptr;
}

// spec.devices.requests of a claim.
json::Array* Requests(json::Object& object) {
  json::Value* spec = object.if_contains("spec");
  json::Value* devices = spec && spec->is_object() ? spec->as_object().if_contains("devices") : nullptr;
  json::Value* list = devices && devices->is_object() ? devices->as_object().if_contains("requests") : nullptr;
  return list ? list->if_array() : nullptr;
}

template <class Fn>
void ForEachObject(json::Array* list, Fn fn) {
  if (!list) return;
  for (json::Value& item : *list) {
    if (json::Object* object = item.if_object()) fn(*object);
  }
}

// What the other form begins with: the name, where there is one.
json::Object NameOf(const json::Object& object) {
  json::Object named;
  if (const json::Value* name = object.if_contains("name")) named.emplace("name", *name);
  return named;
}

void LiftBasic(json::Object& device) {
  json::Object flat = NameOf(device);
  if (json::Value* basic = device.if_contains("basic"); basic && basic->is_object()) {
    for (auto& item : basic->as_object()) flat.emplace(item.key(), std::move(item.value()));
  }
  device = std::move(flat);
}

void SinkBasic(json::Object& device) {
  json::Object basic;
  for (auto& item : device) {
    if (item.key() != "name") basic.emplace(item.key(), std::move(item.value()));
  }
  json::Object nested = NameOf(device);
  nested.emplace("basic", std::move(basic));
  device = std::move(nested);
}

// v1beta1 has the fields of `exactly` in the request itself.
void LiftExactly(json::Object& request) {
  if (request.contains("firstAvailable")) return;
  json::Object exactly;
  for (auto& item : request) {
    if (item.key() != "name") exactly.emplace(item.key(), std::move(item.value()));
  }
  json::Object nested = NameOf(request);
  nested.emplace("exactly", std::move(exactly));
  request = std::move(nested);
}

void SinkExactly(json::Object& request) {
  json::Value* exactly = request.if_contains("exactly");
  if (!exactly || !exactly->is_object()) return;
  json::Object flat = NameOf(request);
  for (auto& item : exactly->as_object()) flat.emplace(item.key(), std::move(item.value()));
  request = std::move(flat);
}

// timeAdded is set to now whenever it is absent, on create and on update.
void DefaultTaintTimes(json::Object& device) {
  json::Value* taints = device.if_contains("taints");
  ForEachObject(taints ? taints->if_array() : nullptr, [](json::Object& taint) {
    if (!taint.contains("timeAdded")) taint.emplace("timeAdded", Rfc3339(SystemClock().Now()));
  });
}

}  // namespace

void ToStored(std::string_view resource, std::string_view version, json::Object& object) {
  if (version == "v1beta1") {
    if (resource == "resourceslices") ForEachObject(SpecArray(object, "devices"), LiftBasic);
    if (resource == "resourceclaims") ForEachObject(Requests(object), LiftExactly);
  }
  if (resource == "resourceslices") ForEachObject(SpecArray(object, "devices"), DefaultTaintTimes);
  object["apiVersion"] = "resource.k8s.io/v1";
}

json::Value FromStored(std::string_view resource, std::string_view version, const json::Value& stored) {
  json::Value value = stored;
  json::Object& object = value.as_object();
  object["apiVersion"] = Format("{}/{}", kResourceGroup, version);
  if (version == "v1beta1") {
    if (resource == "resourceslices") ForEachObject(SpecArray(object, "devices"), SinkBasic);
    if (resource == "resourceclaims") ForEachObject(Requests(object), SinkExactly);
  }
  return value;
}

}  // namespace tessera::standin
