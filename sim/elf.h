// sim/elf.h: the two things the simulator does to ELF files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera::sim {

// The bytes of the smallest shared object with this SONAME: enough for ldconfig and the loader, with no code in it.
std::string MakeSharedObject(std::string_view soname);

// The names a shared object defines for others (its dynamic symbol table).
Result<std::vector<std::string>> DynamicSymbols(std::string_view image);

// Makes dlsym() of these names fail, as with an older driver, by renaming them inside `image`. Names that are not
// there are an error.
Result<void> HideSymbols(std::string& image, std::span<const std::string> names);

}  // namespace tessera::sim
