// local/podman_flags.h: CDI edits as flags of podman, for users whose podman reads only the machine's CDI directories.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "cdi/spec.h"

namespace tessera::local {

// What the edits of all devices of the specs say: --env, --device, --mount. Hooks become files in `hooks_dir`, which is
// made. Works with every podman that has --hooks-dir, rootless too: device nodes are mounted there, not made.
Result<std::vector<std::string>> PodmanFlags(const std::vector<cdi::Spec>& specs,
                                             const std::filesystem::path& hooks_dir);

}  // namespace tessera::local
