#include "api/resource_slice.h"

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

json::Value DeviceToJson(const Device& device) {
  json::Object object{{"name", device.name}};
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

json::Value ToJson(const ResourceSlice& slice) {
  json::Object spec{{"driver", slice.driver},
                    {"nodeName", slice.node_name},
                    {"pool", json::Object{{"name", slice.pool_name},
                                          {"generation", slice.pool_generation},
                                          {"resourceSliceCount", slice.pool_slice_count}}}};
  // An explicit empty list is not the same as none to the API server (resource-api, 4.1).
  if (!slice.devices.empty()) {
    json::Array devices;
    for (const Device& device : slice.devices) devices.push_back(DeviceToJson(device));
    spec.emplace("devices", std::move(devices));
  }
  return json::Object{{"apiVersion", "resource.k8s.io/v1"},
                      {"kind", "ResourceSlice"},
                      {"metadata", MetadataToJson(slice)},
                      {"spec", std::move(spec)}};
}

}  // namespace tessera::api
