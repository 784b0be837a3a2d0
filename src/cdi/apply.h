// cdi/apply.h: what a container runtime does with CDI specs: edits an OCI config.json.
#pragma once

#include <span>
#include <string>

#include "cdi/spec.h"

namespace tessera::cdi {

// Applies the edits of `devices` ("k8s.gpu.nvidia.com/claim=<device>") to the OCI runtime config, as the reference
// implementation does: for each device in order the edits of its spec, once a spec, then its own; device nodes are
// completed from this machine's. On failure `config` is unchanged; a name that no spec has, or more than one, is
// "unresolvable CDI devices …".
Result<void> Apply(json::Value& config, std::span<const Spec> specs, std::span<const std::string> devices);

}  // namespace tessera::cdi
