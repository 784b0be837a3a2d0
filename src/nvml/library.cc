#include "nvml/library.h"

#include <dlfcn.h>

#include <algorithm>

#include "base/text.h"
#include "nvml/locate.h"

namespace tessera::nvml {
namespace {

namespace fs = std::filesystem;

// Opens one candidate. Not there, not a library, or not NVML: why it does not count.
std::expected<Library, std::string> OpenLibrary(const fs::path& root, const fs::path& candidate) {
  fs::path path = candidate;
  if (candidate.is_absolute()) {
    const auto resolved = ResolveBelow(root, candidate);
    if (!resolved.has_value()) return std::unexpected("not there");
    path = *resolved;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::unexpected("not a file");
  }
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    const std::string_view text = why != nullptr ? why : "cannot be loaded";
    // "PATH: invalid ELF header": the path is in our message already. The loader's search finding nothing is no answer.
    if (!candidate.is_absolute() && text.find("No such file") != std::string_view::npos) {
      return std::unexpected("not there");
    }
    const auto cut = Cut(text, path.string() + ": ");
    return std::unexpected(std::string(cut ? cut->second : text));
  }
  const Api api = Api::From(handle);
  if (api.Get<Fn::nvmlInit_v2>() == nullptr || api.Get<Fn::nvmlDeviceGetCount_v2>() == nullptr) {
    ::dlclose(handle);
    return std::unexpected("is not NVML: it lacks nvmlInit_v2 or nvmlDeviceGetCount_v2");
  }
  return Library(api, path);
}

}  // namespace

Result<void> Library::Initialise(Progress& progress) const {
  // A machine whose GPUs are all bound to vfio-pci has none for NVML, and that is no failure.
  const auto with_flags = api_.Get<Fn::nvmlInitWithFlags>();
  const CallScope scope(progress, with_flags != nullptr ? Fn::nvmlInitWithFlags : Fn::nvmlInit_v2);
  const abi::Return code = with_flags != nullptr ? with_flags(abi::kInitNoGpus) : api_.Get<Fn::nvmlInit_v2>()();
  if (code != abi::kSuccess) return std::unexpected(InitError(code));
  return {};
}

bool Library::ShutDown(const std::vector<Avoid>& avoid, Progress& progress) const {
  const auto shutdown = api_.Get<Fn::nvmlShutdown>();
  const auto is_shutdown = [](const Avoid& a) { return a.function == Name(Fn::nvmlShutdown); };
  if (shutdown == nullptr || std::ranges::any_of(avoid, is_shutdown)) return false;
  const CallScope scope(progress, Fn::nvmlShutdown);
  return shutdown() == abi::kSuccess;
}

Result<Library> FindLibrary(const std::vector<fs::path>& roots,
                            const std::function<Result<void>(const Library&)>& serve) {
  std::vector<Attempt> attempts;
  std::optional<Error> refusal;  // A library that opens but does not serve says more than "not found".
  for (const fs::path& root : roots) {
    for (const fs::path& candidate : Candidates(root)) {
      auto opened = OpenLibrary(root, candidate);
      if (!opened.has_value()) {
        attempts.push_back({candidate, opened.error()});
        continue;
      }
      const auto served = serve(*opened);
      if (served.has_value()) return std::move(*opened);
      attempts.push_back({candidate, served.error().message()});
      if (!refusal) refusal = served.error();
    }
  }
  const Error not_found = NotFound(roots, attempts);
  if (!refusal) return std::unexpected(not_found);
  return std::unexpected(Error(refusal->kind(), refusal->code(), not_found.message(), refusal->advice()));
}

Error InitError(abi::Return code) {
  const std::string message = Format("nvmlInit: {}", CodeText(code));
  switch (code) {
    case abi::kDriverNotLoaded:
      return Error(ErrorKind::kTransient, "DriverNotLoaded", message,
                   "load the nvidia kernel module (modprobe nvidia)");
    case abi::kLibRmVersionMismatch:
      return Error(ErrorKind::kPermanentDevice, "DriverVersionMismatch", message,
                   "the driver was upgraded under running programs: drain the node and reload the module, or reboot");
    case abi::kNoPermission:
      return Error(ErrorKind::kPermanentConfig, "DriverNoPermission", message,
                   "run with access to /dev/nvidiactl and /dev/nvidia*");
    default:
      return Error(ErrorKind::kPermanentDevice, "DriverUnusable", message, "run nvidia-smi on the node");
  }
}

}  // namespace tessera::nvml
