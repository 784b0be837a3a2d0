// elf_note.h: what a CUDA compatibility library says about itself.
#pragma once

#include <optional>
#include <string>

namespace tessera::hook {

// The text of the note ".note.cuda.fwd_compatibility" of the library behind `file`, or nothing: no such note, no ELF
// file, or one that is out of all proportion. Reads a few pages, whatever the file claims.
std::optional<std::string> CompatibilityNote(int file);

}  // namespace tessera::hook
