// cmd/tessera/refusal.h: why `tessera run` got no devices, for people.
#pragma once

#include <span>
#include <string>

#include "alloc/plan.h"
#include "local/machine_offer.h"

namespace tessera::cmd {

// In the words of `tessera explain`: what rules out which devices, and the smallest change that would make it fit.
std::string ToText(const local::Refusal& refusal, std::span<const alloc::Claim> claims, const alloc::Classes& classes);

}  // namespace tessera::cmd
