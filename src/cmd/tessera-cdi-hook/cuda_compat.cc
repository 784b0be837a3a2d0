#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/semver.h"
#include "base/text.h"
#include "cmd/tessera-cdi-hook/elf_note.h"
#include "cmd/tessera-cdi-hook/hooks.h"
#include "cmd/tessera-cdi-hook/ld_conf.h"
#include "cmd/tessera-cdi-hook/state.h"
#include "json/decode.h"

namespace tessera::hook {
namespace {

struct Note {
  std::string cuda_version;
  std::vector<std::int64_t> drivers;  // Major versions of the drivers it works on.
};

template <class F>
void Describe(F& f, Note& n) {
  f.Optional("CUDA Version", n.cuda_version);
  f.Optional("Driver", n.drivers);
}

// The versions given on the command line; nothing for what was not given or is no version.
struct Host {
  std::optional<Semver> driver, cuda;
  bool cuda_given = false;
};

std::optional<Note> ReadNote(int file) {
  const auto text = CompatibilityNote(file);
  if (!text) return std::nullopt;
  const auto value = json::ParseJson(*text);
  if (!value.has_value()) return std::nullopt;
  auto note = json::Decode<Note>(*value, json::Unknown::kIgnore);
  return note.has_value() ? std::optional(std::move(*note)) : std::nullopt;
}

// NVIDIA's rule: the note decides where there is one, otherwise the next major version is taken to work.
bool UsesCompat(const std::optional<Note>& note, const std::optional<Semver>& compat, const Host& host) {
  if (!note) return !host.cuda_given && host.driver && compat && compat->major > host.driver->major;
  if (host.driver && compat) {
    return std::ranges::any_of(note->drivers, [&](auto major) { return std::cmp_equal(major, host.driver->major); }) &&
           *compat > *host.driver;
  }
  const std::optional<Semver> cuda = Semver::Coerce(note->cuda_version);
  return host.cuda && cuda && *cuda > *host.cuda;
}

// The version of the one libcuda in the folder; nothing when there is none or several.
Result<std::optional<std::string>> FindCompatVersion(const ContainerRoot& root, const std::string& folder) {
  constexpr std::string_view kPrefix = "libcuda.so.";
  TESSERA_ASSIGN(const std::vector<std::string> names, root.List(folder));
  std::optional<std::string> version;
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix) || name.find('.', kPrefix.size()) == std::string::npos) continue;
    const UniqueFd handle = root.Resolve(folder + "/" + name, O_NOFOLLOW);
    struct stat status{};
    if (!handle || ::fstat(handle.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (version) return std::nullopt;
    version = name.substr(kPrefix.size());
  }
  return version;
}

}  // namespace

Result<void> EnableCudaCompat(Arguments arguments) {
  std::string driver, cuda, folder = "/usr/local/cuda/compat";
  TESSERA_TRY(ParseFlags(arguments, {{.name = "--host-driver-version", .last = &driver},
                                     {.name = "--host-cuda-version", .last = &cuda},
                                     {.name = "--cuda-compat-container-root", .last = &folder}}));
  if (driver.empty() && cuda.empty()) return {};
  TESSERA_TRY(CheckFolder(folder));
  TESSERA_ASSIGN(const ContainerRoot root, WritableRootFromState());
  TESSERA_ASSIGN(const std::optional<std::string> version, FindCompatVersion(root, folder));
  if (!version) return {};
  TESSERA_ASSIGN(const std::optional<UniqueFd> library, root.OpenFile(folder + "/libcuda.so." + *version));
  if (!library) return {};
  const Host host{Semver::Coerce(driver), Semver::Coerce(cuda), !cuda.empty()};
  if (!UsesCompat(ReadNote(library->get()), Semver::Coerce(*version), host)) return {};
  return AddFolders(root, "00-compat", std::span(&folder, 1));
}

}  // namespace tessera::hook
