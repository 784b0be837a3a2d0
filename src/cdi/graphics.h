// cdi/graphics.h: a GPU's nodes of the kernel's graphics interface (DRM). Finding them is a walk through sysfs, too long
// for each Prepare, so it is done once a scan.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "cdi/driver_files.h"
#include "cdi/spec.h"

namespace tessera::cdi {

// The GPU's DRM nodes, and their names by PCI address. Empty without nvidia-drm. `hook_path` is the hook program as the
// container runtime sees it.
Edits FindGraphics(const Roots& roots, const std::string& hook_path, const std::string& bus_id);

using Graphics = std::map<std::string, Edits, std::less<>>;  // By bus id.

}  // namespace tessera::cdi
