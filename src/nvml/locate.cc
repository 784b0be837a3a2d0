#include "nvml/locate.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/ldcache.h"
#include "base/text.h"

namespace tessera::nvml {
namespace {

namespace fs = std::filesystem;

// As the container toolkit and the Go driver look, with the folders of other distributions behind.
constexpr auto kFolders = std::to_array<std::string_view>({
    "",
    "usr/lib64",
#if defined(__aarch64__)
    "usr/lib/aarch64-linux-gnu",
    "usr/lib/aarch64-linux-gnu/nvidia/current",
#else
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/nvidia/current",
#endif
    "lib64",
#if defined(__aarch64__)
    "lib/aarch64-linux-gnu",
#else
    "lib/x86_64-linux-gnu",
#endif
    "usr/lib",
    "lib",
    "usr/lib/wsl/lib",
    "usr/local/nvidia/lib64",
});

Result<fs::path> PathOf(const UniqueFd& file) {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(file.get()), error);
  if (error) return FromErrno(error.value(), "FileUnreadable", "resolving a link");
  return path;
}

void AppendFromCache(const fs::path& root, std::vector<fs::path>& candidates) {
  const auto cache = ReadFile(root / "etc/ld.so.cache");
  if (!cache.has_value()) return;  // Most driver roots have none.
  const auto paths = LdCachePaths(*cache, kLibraryName);
  if (!paths.has_value()) return;  // A damaged cache tells us nothing; the folders above were tried all the same.
  for (const std::string& path : *paths) {
    const fs::path candidate = root / fs::path(path).relative_path();
    if (std::ranges::find(candidates, candidate) == candidates.end()) candidates.push_back(candidate);
  }
}

}  // namespace

std::vector<fs::path> DefaultDriverRoots() { return {"/", "/run/nvidia/driver"}; }

std::vector<fs::path> Candidates(const fs::path& root) {
  std::vector<fs::path> candidates;
  for (const std::string_view folder : kFolders) candidates.push_back(root / folder / kLibraryName);
  AppendFromCache(root, candidates);
  if (root == "/") candidates.emplace_back(kLibraryName);
  return candidates;
}

Result<fs::path> ResolveBelow(const fs::path& root, const fs::path& path) {
  const UniqueFd directory{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!directory) return FromErrno(errno, "FileUnreadable", "opening " + root.string());
  const fs::path relative = path.lexically_relative(root);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  const UniqueFd file{static_cast<int>(::syscall(SYS_openat2, directory.get(), relative.c_str(), &how, sizeof how))};
  if (file) return PathOf(file);
  if (errno != ENOSYS && errno != EPERM) return FromErrno(errno, "FileUnreadable", "opening " + path.string());

  // Kernels before 5.6 and some sandboxes: resolve as seen from here.
  std::error_code error;
  fs::path resolved = fs::canonical(path, error);
  if (error) return FromErrno(error.value(), "FileUnreadable", "opening " + path.string());
  return resolved;
}

Error NotFound(const std::vector<fs::path>& roots, const std::vector<Attempt>& attempts) {
  std::vector<std::string> names;
  for (const fs::path& root : roots) names.push_back(root.string());
  std::string message = Format("no usable NVIDIA driver library ({}) below {}", kLibraryName, Join(names, " or "));
  std::size_t absent = 0;
  std::vector<std::string> answers;
  for (const Attempt& attempt : attempts) {
    if (attempt.outcome == "not there") {
      ++absent;
    } else {
      answers.push_back(Format("{}: {}", attempt.path.string(), attempt.outcome));
    }
  }
  if (!answers.empty()) message += ": " + Join(answers, "; ");
  if (absent > 0) message += Format("{} {} usual places have none", answers.empty() ? ":" : ";", absent);
  return Error(
      ErrorKind::kPermanentDevice, "DriverNotFound", std::move(message),
      answers.empty()
          ? "install the NVIDIA driver, or name its root (--driver-root, or --nvidia-driver-root of the plugin)"
          : "repair the driver, or name another root (--driver-root, or --nvidia-driver-root of the plugin)");
}

}  // namespace tessera::nvml
