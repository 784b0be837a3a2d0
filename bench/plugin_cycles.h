// bench/plugin_cycles.h: whether the plugin leaves anything behind over very many claims.
#pragma once

#include "bench/plugin_node.h"

namespace tessera::bench {

// So many Prepares, each followed by its Unprepare, by four callers. Prints memory, descriptors and files after each
// tenth. False when memory grew by more than a fifth after the first tenth, or when descriptors or files are left.
bool RunCycles(PluginNode& node, std::size_t cycles);

}  // namespace tessera::bench
