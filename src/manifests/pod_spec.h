// manifests/pod_spec.h: a pod's spec, from JSON. Internal to manifests/.
#pragma once

#include <string_view>

#include "json/value.h"
#include "manifests/objects.h"

namespace tessera::manifests {

// `path` is where the spec stands: "spec.template.spec". An error names the field.
Result<PodSpec> DecodePodSpec(const json::Value& value, std::string_view path);

// Where a workload of this kind has its pod spec; empty for other kinds.
std::string_view PodSpecPath(std::string_view kind);

}  // namespace tessera::manifests
