// state.h: which container this hook was started for.
#pragma once

#include "cmd/tessera-cdi-hook/container_root.h"

namespace tessera::hook {

// The root of the container whose state an OCI runtime wrote to standard input. Nothing else of the state is used.
Result<ContainerRoot> RootFromState();

// The same, writable if it can be. Mounts made after this call stay with this process.
Result<ContainerRoot> WritableRootFromState();

}  // namespace tessera::hook
