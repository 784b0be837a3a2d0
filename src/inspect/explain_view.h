// inspect/explain_view.h: an explanation on one screen, or for a program.
#pragma once

#include <string>

#include "inspect/explain.h"
#include "json/value.h"

namespace tessera::inspect {

// At most some forty lines, however many nodes and devices there are.
std::string ToText(const Explanation& explanation);

// Only why nothing fits and what would, for who has said the rest.
std::string ReasonsToText(const Explanation& explanation);

// Everything, every group and node.
json::Value ToJson(const Explanation& explanation);

}  // namespace tessera::inspect
