#include "lint/live_devices.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/device_facts.h"
#include "api/resource_slice.h"
#include "manifests/objects.h"

namespace tessera::lint {

Result<LiveDevices> LiveDevices::From(std::span<const manifests::Manifest> objects) {
  manifests::Objects all;
  for (const manifests::Manifest& object : objects) {
    if (object.kind == "ResourceSlice") TESSERA_TRY(all.Add(object));
  }
  std::map<std::pair<std::string, std::string>, std::int64_t> newest;
  for (const manifests::Slice& slice : all.slices) {
    std::int64_t& generation = newest[{slice.object.driver, slice.object.pool_name}];
    generation = std::max(generation, slice.object.pool_generation);
  }
  LiveDevices live;
  for (const manifests::Slice& slice : all.slices) {
    const api::ResourceSlice& object = slice.object;
    if (object.pool_generation < newest[{object.driver, object.pool_name}]) continue;
    for (const api::Device& device : object.devices) {
      live.devices.push_back({object.pool_name, device.name, api::FactsOf(device, object.driver)});
    }
  }
  return live;
}

}  // namespace tessera::lint
