// cmd/tessera/refusal.h: why `tessera run` got no devices, for people.
#pragma once

#include <string>

#include "local/machine_offer.h"

namespace tessera::cmd {

// One line for each request, and one for each reason that rules devices out.
std::string ToText(const local::Refusal& refusal);

}  // namespace tessera::cmd
