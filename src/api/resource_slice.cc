#include "api/resource_slice.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tessera::api {
namespace {

json::Value AttributeToJson(const Attribute& attribute) {
  json::Object object;
  if (const auto* number = std::get_if<std::int64_t>(&attribute)) object["int"] = *number;
  if (const auto* flag = std::get_if<bool>(&attribute)) object["bool"] = *flag;
  if (const auto* text = std::get_if<std::string>(&attribute)) object["string"] = *text;
  if (const auto* version = std::get_if<Version>(&attribute)) object["version"] = version->text;
  return object;
}

json::Array TaintsToJson(const std::vector<Taint>& taints) {
  json::Array array;
  for (const Taint& taint : taints) {
    json::Object object{{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) object.emplace("value", taint.value);
    array.push_back(std::move(object));
  }
  return array;
}

json::Object DeviceBody(const Device& device) {
  json::Object object;
  if (!device.attributes.empty()) {
    json::Object attributes;
    for (const auto& [name, attribute] : device.attributes) attributes.emplace(name, AttributeToJson(attribute));
    object.emplace("attributes", std::move(attributes));
  }
  if (!device.capacity.empty()) {
    json::Object capacity;
    for (const auto& [name, value] : device.capacity) capacity.emplace(name, json::Object{{"value", value.ToString()}});
    object.emplace("capacity", std::move(capacity));
  }
  if (!device.taints.empty()) object.emplace("taints", TaintsToJson(device.taints));
  return object;
}

json::Value DeviceToJson(const Device& device, std::string_view version) {
  json::Object object{{"name", device.name}};
  json::Object body = DeviceBody(device);
  if (version == "v1beta1") {  // There everything but the name is one level down.
    object.emplace("basic", std::move(body));
  } else {
    for (auto& [key, value] : body) object.emplace(key, std::move(value));
  }
  return object;
}

json::Value MetadataToJson(const ResourceSlice& slice) {
  json::Object metadata{{"generateName", slice.generate_name}};
  if (slice.owner) {
    metadata["ownerReferences"] = json::Array{json::Object{{"apiVersion", slice.owner->api_version},
                                                           {"kind", slice.owner->kind},
                                                           {"name", slice.owner->name},
                                                           {"uid", slice.owner->uid},
                                                           {"controller", true}}};
  }
  return metadata;
}

}  // namespace

std::string ToText(const Taint& taint) {
  return Format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=", taint.value, taint.effect);
}

json::Value ToJson(const ResourceSlice& slice, std::string_view version) {
  json::Object spec{{"driver", slice.driver},
                    {"nodeName", slice.node_name},
                    {"pool", json::Object{{"name", slice.pool_name},
                                          {"generation", slice.pool_generation},
                                          {"resourceSliceCount", slice.pool_slice_count}}}};
  // An explicit empty list is not the same as none to the API server (resource-api, 4.1).
  if (!slice.devices.empty()) {
    json::Array devices;
    for (const Device& device : slice.devices) devices.push_back(DeviceToJson(device, version));
    spec.emplace("devices", std::move(devices));
  }
  return json::Object{{"apiVersion", Format("resource.k8s.io/{}", version)},
                      {"kind", "ResourceSlice"},
                      {"metadata", MetadataToJson(slice)},
                      {"spec", std::move(spec)}};
}

namespace {

bool IsNothing(const json::Value& value) {
  if (value.is_null()) return true;
  if (const json::Array* array = value.if_array()) return array->empty();
  if (const json::Object* object = value.if_object()) return object->empty();
  return false;
}

// Compares two documents by meaning and collects the paths that differ.
class Comparison {
 public:
  explicit Comparison(std::size_t limit) : limit_(limit) {}

  void Compare(const json::Value& wanted, const json::Value& stored, const std::string& path) {
    if (found_.size() >= limit_ || (IsNothing(wanted) && IsNothing(stored))) return;
    if (wanted.is_object() && stored.is_object()) {
      CompareObjects(wanted.get_object(), stored.get_object(), path);
    } else if (wanted.is_array() && stored.is_array()) {
      CompareArrays(wanted.get_array(), stored.get_array(), path);
    } else if (!SameScalar(wanted, stored, path)) {
      found_.push_back(path);
    }
  }
  std::vector<std::string> Take() { return std::move(found_); }

 private:
  void CompareObjects(const json::Object& wanted, const json::Object& stored, const std::string& path) {
    static const json::Value kNothing;
    std::set<std::string_view> keys;
    for (const auto& item : wanted) keys.insert(item.key());
    for (const auto& item : stored) keys.insert(item.key());
    for (const std::string_view key : keys) {
      const json::Value* ours = wanted.if_contains(key);
      const json::Value* theirs = stored.if_contains(key);
      if (key == "timeAdded" && ours == nullptr) continue;
      Compare(ours != nullptr ? *ours : kNothing, theirs != nullptr ? *theirs : kNothing, Format("{}.{}", path, key));
    }
  }

  void CompareArrays(const json::Array& wanted, const json::Array& stored, const std::string& path) {
    if (wanted.size() != stored.size()) return found_.push_back(path);
    for (std::size_t i = 0; i < wanted.size(); ++i) Compare(wanted[i], stored[i], Format("{}[{}]", path, i));
  }

  // "1Gi" and "1024Mi" are the same capacity.
  static bool SameScalar(const json::Value& wanted, const json::Value& stored, std::string_view path) {
    if (wanted == stored) return true;
    if (!wanted.is_string() || !stored.is_string() || !path.contains(".capacity.")) return false;
    const auto a = Quantity::Parse(wanted.get_string());
    const auto b = Quantity::Parse(stored.get_string());
    return a.has_value() && b.has_value() && *a == *b;
  }

  const std::size_t limit_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> Differences(const json::Value& wanted, const json::Value& stored, std::string_view path,
                                     std::size_t limit) {
  Comparison comparison(limit);
  comparison.Compare(wanted, stored, std::string(path));
  return comparison.Take();
}

}  // namespace tessera::api
