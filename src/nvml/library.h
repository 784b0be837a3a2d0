// nvml/library.h: NVIDIA's library, found, loaded and initialised. Only the NVML host does this: a crash here is its own.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "base/error.h"
#include "nvml/caller.h"

namespace tessera::nvml {

// One loaded library. Never unloaded: real ones leave threads behind.
class Library {
 public:
  Library(Api api, std::filesystem::path path) : api_(api), path_(std::move(path)) {}

  const Api& api() const { return api_; }
  const std::filesystem::path& path() const { return path_; }

  Result<void> Initialise(Progress& progress) const;
  // False when NVML cannot be shut down, because doing so hung before: then only the end of the process lets go of it.
  bool ShutDown(const std::vector<Avoid>& avoid, Progress& progress) const;

 private:
  Api api_;
  std::filesystem::path path_;
};

// The first library below the roots that opens and serves: `serve` succeeds with it. The error lists what each candidate
// said, with the kind and code of the first that opened.
Result<Library> FindLibrary(const std::vector<std::filesystem::path>& roots,
                            const std::function<Result<void>(const Library&)>& serve);

// What makes nvmlInit fail, as an error with advice.
Error InitError(abi::Return code);

}  // namespace tessera::nvml
