// api/device_facts.h: a published device as a selector sees it.
#pragma once

#include <string_view>

#include "api/resource_slice.h"
#include "cel/device_facts.h"

namespace tessera::api {

cel::DeviceFacts FactsOf(const Device& device, std::string_view driver);

}  // namespace tessera::api
