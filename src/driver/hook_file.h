// driver/hook_file.h: puts the CDI hook program where the host's container runtime finds it.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace tessera::driver {

// `given` when it is set. Otherwise our own hook, found beside this program, is copied into `directory`, whose path is
// the same inside the plugin's container and on the host. The Go driver's copy there (nvidia-cdi-hook) is left alone:
// CDI files of claims it prepared name it. Returns the path for CDI specs.
Result<std::string> InstallHook(const std::string& given, const std::filesystem::path& directory);

}  // namespace tessera::driver
