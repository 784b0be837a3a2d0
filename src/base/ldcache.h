// base/ldcache.h: reads the loader's cache (ld.so.cache), so that a library is found where the system would find it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera {

// The paths that the cache has for a library of this machine's word size and architecture, best first, as written in
// the cache (below the root the cache belongs to). Empty when it has none; an error when the bytes are no such cache.
Result<std::vector<std::string>> LdCachePaths(std::string_view cache, std::string_view library);

}  // namespace tessera
