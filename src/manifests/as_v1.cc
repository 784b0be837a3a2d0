// The shapes of resource.k8s.io/v1beta1 as v1 has them.
#include <utility>

#include "manifests/objects.h"

namespace tessera::manifests {
namespace {

// The value at a path of object keys, or null.
json::Value* At(json::Value& value, std::initializer_list<std::string_view> path) {
  json::Value* at = &value;
  for (const std::string_view key : path) {
    json::Object* object = at->if_object();
    at = object != nullptr ? object->if_contains(key) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at;
}

template <class Change>
void ForEachObject(json::Value* list, const Change& change) {
  json::Array* array = list != nullptr ? list->if_array() : nullptr;
  if (array == nullptr) return;
  for (json::Value& item : *array) {
    if (json::Object* object = item.if_object()) change(*object);
  }
}

void LiftBasic(json::Object& device) {
  json::Value* found = device.if_contains("basic");
  if (found == nullptr || !found->is_object()) return;
  const json::Object basic = std::move(found->get_object());
  device.erase("basic");
  for (const auto& item : basic) device.insert_or_assign(item.key(), item.value());
}

void SinkExactly(json::Object& request) {
  if (request.contains("firstAvailable") || request.contains("exactly")) return;
  json::Object named, exactly;
  for (const auto& item : request) {
    (item.key() == "name" ? named : exactly).emplace(item.key(), item.value());
  }
  named.emplace("exactly", std::move(exactly));
  request = std::move(named);
}

}  // namespace

json::Value AsV1(const Manifest& manifest) {
  json::Value value = manifest.value;
  if (manifest.api_version != "resource.k8s.io/v1beta1") return value;
  if (manifest.kind == "ResourceSlice") ForEachObject(At(value, {"spec", "devices"}), LiftBasic);
  if (manifest.kind == "ResourceClaim") ForEachObject(At(value, {"spec", "devices", "requests"}), SinkExactly);
  if (manifest.kind == "ResourceClaimTemplate") {
    ForEachObject(At(value, {"spec", "spec", "devices", "requests"}), SinkExactly);
  }
  return value;
}

}  // namespace tessera::manifests
