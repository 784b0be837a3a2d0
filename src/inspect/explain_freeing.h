// inspect/explain_freeing.h: which claims would have to give up their devices, on one node, for it to fit there.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cel/selector_cache.h"
#include "inspect/explain_situation.h"

namespace tessera::inspect {

struct Freeing {
  std::string node;
  std::vector<const Holder*> holders;  // In the situation. Without any one of them it does not fit.
};

struct Freeings {
  std::vector<Freeing> found;  // The fewest claims first, and of as many those that no pod uses; of each node one.
  bool tried_all = true;       // False: there are more nodes, or more claims on one, than were looked at.
};

// Asks the allocator, node by node.
Freeings FindFreeings(const Situation& situation, cel::SelectorCache& selectors);

// "free what claim default/a holds (used by pod default/p)", "free what 2 claims hold: …".
std::string ToText(const Freeing& freeing);

}  // namespace tessera::inspect
