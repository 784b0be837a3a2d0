// cdi/elf_soname.h: the name under which programs ask for a shared library.
#pragma once

#include <optional>
#include <string>

namespace tessera::cdi {

// DT_SONAME of a 64-bit library, read from an open file; nothing when it has none, is no such library or is damaged.
// Reads a few kilobytes at most, whatever the file says about itself. The name is safe as a file name.
std::optional<std::string> ElfSoname(int file);

}  // namespace tessera::cdi
