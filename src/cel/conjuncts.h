// cel/conjuncts.h: the parts of a selector that must all be true, for explanations.
#pragma once

#include <string_view>
#include <vector>

namespace tessera::cel {

// "a && (b || c) && d" is a, (b || c), d. One part when the expression is none of that form, or no CEL. The parts point
// into `expression`, without comments around them.
std::vector<std::string_view> Conjuncts(std::string_view expression);

}  // namespace tessera::cel
