// inspect/explain_changes.h: what would have to change for it to fit. Nothing is guessed: each change is made to a copy,
// and the allocator is asked again.
#pragma once

#include <string>
#include <vector>

#include "cel/selector_cache.h"
#include "inspect/explain_situation.h"

namespace tessera::inspect {

struct Remedy {
  std::string text;  // "tolerate the taint gpu.nvidia.com/xid=79:NoSchedule in request gpus".
  std::string node;  // Where it fits then.
};

struct Remedies {
  std::vector<Remedy> found;  // Each is enough by itself. The smallest first.
  bool tried_all = true;      // False: there were too many to try them all.
};

// Tries one change and, when none is enough, two together.
Remedies FindRemedies(const Situation& situation, cel::SelectorCache& selectors);

}  // namespace tessera::inspect
