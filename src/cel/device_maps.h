// cel/device_maps.h: device.attributes and device.capacity as maps, made on the way from the device's facts.
#pragma once

#include <optional>
#include <string_view>

#include "cel/arena.h"
#include "cel/device_facts.h"
#include "cel/value.h"

namespace tessera::cel {

// device.<field>: driver, attributes, capacity, allowMultipleAllocations; nothing for any other name.
std::optional<Value> DeviceField(Arena& arena, const DeviceFacts& device, std::string_view field);

// device.attributes[domain][id] and device.capacity[domain][id] without the maps between.
std::optional<Value> FindAttribute(Arena& arena, const DeviceFacts& device, std::string_view domain,
                                   std::string_view id);
std::optional<Value> FindCapacity(const DeviceFacts& device, std::string_view domain, std::string_view id);

}  // namespace tessera::cel
