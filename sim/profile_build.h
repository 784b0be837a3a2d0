// sim/profile_build.h: from what a profile says to the whole machine: checks it, and derives the rest.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "sim/machine.h"
#include "sim/profile_format.h"

namespace tessera::sim {

// `models` holds at least every model that `text` names. The same input gives the same machine: UUIDs and serial
// numbers come from `name` and the GPU's position.
Result<Machine> BuildMachine(const std::string& name, const ProfileText& text, std::map<std::string, Model> models);

// Makes the GPU instance and its compute instances on a GPU of `machine`, with new UUIDs. On failure `gpu` may hold a
// part of it: work on a copy, or drop the machine.
Result<void> AddInstance(Machine& machine, Gpu& gpu, const InstanceText& text);

// "0000:07:00.0" in lower case, and "pci0000:00".
bool IsBusId(std::string_view text);
bool IsPciRoot(std::string_view text);

}  // namespace tessera::sim
