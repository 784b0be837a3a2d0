// inspect/explain_together.h: why devices that each would do do not go together.
#pragma once

#include <string>
#include <vector>

#include "alloc/allocator.h"
#include "inspect/explain_situation.h"

namespace tessera::inspect {

struct Conflict {
  std::string text;      // One line.
  std::string likeness;  // The same for conflicts of one form, whatever the values are.
};

// One for each thing that may stand in the way: a constraint with the values that usable devices have, requests that
// want the same devices. None when some request has too few usable devices by itself: that is reason enough.
std::vector<Conflict> WhyNotTogether(const Situation& situation, const alloc::Explanation& explanation);

// Whether a request has enough devices that nothing rules out by themselves. Mode All wants every device that matches:
// one that is ruled out by anything else is one too few.
bool HasEnough(const alloc::RequestVerdict& request);

}  // namespace tessera::inspect
