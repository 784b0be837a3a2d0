// base/directory.h: makes directories.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/error.h"

namespace tessera {

// Makes the directory, and those above it with the usual mode. Fine when it is there, whatever its mode.
Result<void> MakeDirectory(const std::filesystem::path& path, mode_t mode);

}  // namespace tessera
