// inspect/explain_together.h: why devices that each would do do not go together.
#pragma once

#include <string>
#include <vector>

#include "alloc/allocator.h"
#include "inspect/explain_situation.h"

namespace tessera::inspect {

// One line for each thing that may stand in the way: a constraint with the values that usable devices have, requests
// that want the same devices. Empty when some request has too few usable devices by itself: that is reason enough.
std::vector<std::string> WhyNotTogether(const Situation& situation, const alloc::Explanation& explanation);

}  // namespace tessera::inspect
