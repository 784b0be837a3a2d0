// inspect/simulated_root.h: a simulated machine for one command: `--simulate PROFILE`.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace tessera::inspect {

// A temporary driver root with simulated GPUs, made by the tessera-sim program that is installed beside ours; removed
// with the returned object. What tessera-sim says goes to standard error.
Result<TempDir> MakeSimulatedRoot(const std::string& profile);

}  // namespace tessera::inspect
