// cmd/tessera/exit_codes.h: what `tessera` tells a script, and how it tells a person.
#pragma once

#include "base/error.h"

namespace tessera::cmd {

inline constexpr int kExitFine = 0;
inline constexpr int kExitProblem = 1;    // Found a problem: does not fit, unhealthy, no driver.
inline constexpr int kExitUsage = 2;      // The command line is wrong.
inline constexpr int kExitNoCluster = 3;  // The cluster cannot be reached.
inline constexpr int kExitPartial = 4;    // Answered, but some device, node or object could not be read.

// Says the error and what to do on standard error; kExitProblem.
int Fail(const Error& error);

}  // namespace tessera::cmd
