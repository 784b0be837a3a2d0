// sim/tree_parts.h: the parts of a driver root, each described by its own file. Only tree.cc uses these.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "sim/folder.h"
#include "sim/machine.h"
#include "sim/tree.h"

namespace tessera::sim {

#if defined(__x86_64__)
inline constexpr std::string_view kArchitectureName = "x86_64";
#else
inline constexpr std::string_view kArchitectureName = "aarch64";
#endif

// tree_static.cc: libraries, programs, firmware, configuration. `root` is absolute.
Result<void> AddStatic(Folder& top, const std::filesystem::path& root, const Machine& machine,
                       const TreeOptions& options);
// tree_dev.cc, tree_proc.cc, tree_sys.cc: what follows the machine.
void AddDev(Folder& top, const Machine& machine);
void AddProc(Folder& top, const Machine& machine);
void AddSys(Folder& top, const Machine& machine);

// The driver holds this GPU: it is there, and no other driver has it.
inline bool Held(const Machine& machine, const Gpu& gpu) { return machine.driver_loaded && gpu.present && !gpu.vfio; }

// SyncTree() has checked that every GPU has one.
inline const Model& ModelOf(const Machine& machine, const Gpu& gpu) { return machine.models.at(gpu.model); }

// What the kernel module says of itself.
inline const std::string& ModuleVersion(const Machine& machine) {
  return machine.kernel_version.empty() ? machine.driver_version : machine.kernel_version;
}

}  // namespace tessera::sim
