// json/yaml_scalar.h: what plain YAML text means. Shared by the reader and the printer, so that they cannot disagree.
#pragma once

#include <string_view>

#include "json/value.h"

namespace tessera::json {

// A plain scalar, as gopkg.in/yaml and so Kubernetes resolve it: a boolean of YAML 1.1, null, a number, or a string.
Value ResolveYamlScalar(std::string_view text);

}  // namespace tessera::json
