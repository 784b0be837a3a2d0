// hooks.h: what this program does, one function a subcommand of nvidia-cdi-hook.
//
// Each may run twice in one container, because two claims bring the same hooks: the second run changes nothing.
#pragma once

#include "cmd/tessera-cdi-hook/flags.h"

namespace tessera::hook {

// --link TARGET::LINK, repeated: makes the links of the driver's libraries.
Result<void> CreateSymlinks(Arguments arguments);

// --folder DIR, repeated; --ldconfig-path PATH: makes the mounted libraries findable, by the host's ldconfig.
Result<void> UpdateLdcache(Arguments arguments);

// --host-driver-version V, --host-cuda-version V, --cuda-compat-container-root DIR: prefers the image's own, newer
// libcuda where NVIDIA's forward compatibility allows it. Runs before UpdateLdcache().
Result<void> EnableCudaCompat(Arguments arguments);

// --params-path PATH (the driver's, on the host): hides that the driver's tools may make device nodes.
Result<void> DisableDeviceNodeModification(Arguments arguments);

// Restricts EGL and Vulkan to the GPUs whose nodes the container has.
Result<void> UpdateApplicationProfile(Arguments arguments);

}  // namespace tessera::hook
