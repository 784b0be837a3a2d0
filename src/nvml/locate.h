// nvml/locate.h: finds the NVML library as a user would expect, below a driver root.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tessera::nvml {

inline constexpr std::string_view kLibraryName = "libnvidia-ml.so.1";

// Where the driver may be when nobody says: installed on the host, or by the GPU Operator's driver container.
std::vector<std::filesystem::path> DefaultDriverRoots();

// The places where the library may be below `root`, in the order they are tried: the standard library folders, then
// what the root's loader cache says. With root "/", the last one is the bare name: the loader's own search.
std::vector<std::filesystem::path> Candidates(const std::filesystem::path& root);

// `path` with every link resolved as a process chrooted to `root` would, so that absolute links inside a driver
// container's root stay inside it. Nothing when it does not exist.
Result<std::filesystem::path> ResolveBelow(const std::filesystem::path& root, const std::filesystem::path& path);

// What came of the search.
struct Attempt {
  std::filesystem::path path;
  std::string outcome;  // Why it does not count.
};

// The error of a search that found nothing: what was tried and what each answered.
Error NotFound(const std::vector<std::filesystem::path>& roots, const std::vector<Attempt>& attempts);

}  // namespace tessera::nvml
