// inspect/explain_view.h: an explanation on one screen, or for a program.
#pragma once

#include <string>

#include "inspect/explain.h"
#include "json/value.h"

namespace tessera::inspect {

// Why it does not fit takes at most 26 lines, and the changes that would help ten more, however many nodes, requests and
// devices there are: with the rest some forty. The changes are never cut.
std::string ToText(const Explanation& explanation);

// Only why nothing fits and what would, for who has said the rest and has no other form of it.
std::string ReasonsToText(const Explanation& explanation);

// Everything, every group and node.
json::Value ToJson(const Explanation& explanation);

}  // namespace tessera::inspect
