// tests/standin/convert.h: objects of resource.k8s.io between the version of a request and v1, in which they are kept.
#pragma once

#include <string_view>

#include "json/value.h"

namespace tessera::standin {

inline constexpr std::string_view kResourceGroup = "resource.k8s.io";

// What the API server makes of a written object: shapes of v1beta1 become v1's, with fields dropped that v1beta1 does
// not have where they stand (a device's outside of `basic`), and absent defaults filled in (a taint's timeAdded).
void ToStored(std::string_view resource, std::string_view version, json::Object& object);

// The object as `version` shows it.
json::Value FromStored(std::string_view resource, std::string_view version, const json::Value& stored);

}  // namespace tessera::standin
