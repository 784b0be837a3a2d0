#include "local/places.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/directory.h"
#include "base/text.h"

namespace tessera::local {
namespace {

namespace fs = std::filesystem;

enum class Plugin : std::uint8_t { kAbsent, kHere, kUnknown };

Plugin LookForPlugin(const PlaceHints& hints) {
  struct stat status{};
  if (::stat(hints.plugin.c_str(), &status) == 0) return hints.user == 0 ? Plugin::kHere : Plugin::kUnknown;
  return errno == EACCES ? Plugin::kUnknown : Plugin::kAbsent;
}

Result<fs::path> StateOfThisMachine(const PlaceHints& hints) {
  switch (LookForPlugin(hints)) {
    case Plugin::kHere:
      return hints.plugin;
    case Plugin::kUnknown:
      return BadConfig("NodeStateUnreadable",
                       Format("this machine is a Kubernetes node, and only root can see in {} which GPUs its pods have",
                              hints.plugin.string()),
                       "run it as root");
    case Plugin::kAbsent:
      break;
  }
  if (hints.user == 0) return hints.system;
  if (!hints.runtime_dir.empty()) return fs::path(hints.runtime_dir) / "tessera";
  return hints.temporary / Format("tessera-{}", hints.user);
}

// Whoever can write there could have us remove files and stop containers.
Result<void> CheckPrivate(const fs::path& directory, uid_t user) {
  struct stat status{};
  if (::lstat(directory.c_str(), &status) != 0) {
    return FromErrno(errno, "UnsafeStateDirectory", Format("looking at {}", directory.string()));
  }
  const bool is_private = S_ISDIR(status.st_mode) && status.st_uid == user && (status.st_mode & 0022U) == 0;
  if (is_private) return {};
  return BadConfig("UnsafeStateDirectory",
                   Format("{} is not a directory that only its owner, you, can write to", directory.string()),
                   "remove it, or name another with --state-dir");
}

}  // namespace

Result<Places> FindPlaces(const PlaceHints& hints) {
  Places places{.state = hints.state, .cdi = hints.cdi};
  if (places.state.empty() && hints.simulated.empty()) {
    TESSERA_ASSIGN(places.state, StateOfThisMachine(hints));
  } else if (places.state.empty()) {
    PlaceHints without_plugin = hints;  // A simulated GPU is nothing to a real node.
    without_plugin.plugin = "/nonexistent";
    TESSERA_ASSIGN(const fs::path above, StateOfThisMachine(without_plugin));
    TESSERA_TRY(MakeDirectory(above, 0700));
    TESSERA_TRY(CheckPrivate(above, hints.user));
    // The same profile is always the same machine, with the same UUIDs.
    places.state = above / Format("simulated-{}", fs::path(hints.simulated).stem().string());
  }
  if (places.cdi.empty()) places.cdi = hints.user == 0 ? hints.system_cdi : places.state / "cdi";
  TESSERA_TRY(MakeDirectory(places.state, 0700));
  TESSERA_TRY(CheckPrivate(places.state, hints.user));
  return places;
}

bool IsForAllRuntimes(const fs::path& cdi) {
  const fs::path plain = cdi.lexically_normal();
  return plain == "/etc/cdi" || plain == "/var/run/cdi" || plain == "/run/cdi";
}

}  // namespace tessera::local
