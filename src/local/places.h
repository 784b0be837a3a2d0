// local/places.h: where a `tessera run` keeps its state, so that those who must know of each other do.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/error.h"

namespace tessera::local {

struct Places {
  std::filesystem::path state;  // Journal, leases, and a directory for each container.
  std::filesystem::path cdi;    // The claims' CDI files.
};

// What decides; the defaults are those of a usual machine.
struct PlaceHints {
  uid_t user = 0;
  std::string runtime_dir;           // $XDG_RUNTIME_DIR; may be empty.
  std::string simulated;             // A profile: its machine shares nothing with the real one. Empty: the real one.
  std::filesystem::path state, cdi;  // Given by the user; empty: not.
  std::filesystem::path plugin = "/var/lib/kubelet/plugins/gpu.nvidia.com";
  std::filesystem::path system = "/run/tessera";
  std::filesystem::path system_cdi = "/var/run/cdi";
  std::filesystem::path temporary = "/tmp";
};

// The node plugin's own directory where there is one, so that a GPU has one owner over pods and runs; otherwise one for
// the machine (root) or for the user. The state directory is there on return, and nobody else can write to it.
//
// Errors: "NodeStateUnreadable" when there may be a plugin whose state this user cannot read, "UnsafeStateDirectory".
Result<Places> FindPlaces(const PlaceHints& hints);

// Whether it is one of the directories in which every container runtime looks for CDI files.
bool IsForAllRuntimes(const std::filesystem::path& cdi);

}  // namespace tessera::local
