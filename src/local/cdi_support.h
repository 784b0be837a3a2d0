// local/cdi_support.h: whether a container runtime takes CDI devices. One that does not would start the command without
// its GPUs, or refuse a flag in words that do not help.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "local/child.h"
#include "local/runtime.h"

namespace tessera::local {

// What to ask of its program; empty when nothing has to be asked.
std::vector<std::string> CdiQuestion(Runtime runtime);

// What it answered. `cdi` is where the claims' CDI files are. A version that cannot be read passes: it is somebody's
// own build.
//
// Errors: "RuntimeSilent", "RuntimeWithoutCdi", "SpecsNotPublic".
Result<void> JudgeCdi(Runtime runtime, const Answer& answer, const std::filesystem::path& cdi);

}  // namespace tessera::local
