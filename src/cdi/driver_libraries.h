// cdi/driver_libraries.h: the part of driver_files.h that finds shared libraries. Only driver_files.cc uses it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cdi/driver_files.h"
#include "cdi/root_dir.h"

namespace tessera::cdi {

#if defined(__aarch64__)
inline constexpr std::string_view kArchitecture = "aarch64";
#elif defined(__x86_64__)
inline constexpr std::string_view kArchitecture = "x86_64";
#else
#error "Tessera runs on amd64 and arm64"
#endif

// "570.158.01": digits with dots between them.
bool IsDriverVersion(std::string_view text);

// Those of `folders` that exist, without links and repeats. All are noted in files.watched.
std::vector<std::string> SearchFolders(const RootDir& root, std::span<const std::string> folders, DriverFiles& files);

// Fills in version (when it is empty), directories, libraries and links. `name` is the root for messages.
Result<void> FindLibraries(const RootDir& root, std::string_view name, DriverFiles& files);

}  // namespace tessera::cdi
