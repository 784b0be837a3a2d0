// resolve.h: a path below a directory, resolved so that no link leads out of it.
#pragma once

#include <string>

#include "base/fd.h"

namespace tessera::hook {

// A handle (O_PATH) for `path` with `root` as its "/", or none with errno. `flags`: O_NOFOLLOW, O_DIRECTORY.
UniqueFd ResolveInRoot(int root, const std::string& path, int flags);

}  // namespace tessera::hook
