#include "base/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

// Where the linker put the program's text.
extern "C" char __executable_start[];  // NOLINT(bugprone-reserved-identifier): the linker's name for it.
extern "C" char etext[];

namespace tessera {

void ReleaseUnusedMemory() {
  ::malloc_trim(0);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const char* const end = etext - reinterpret_cast<std::uintptr_t>(etext) % page;
  // Up to the end of the text nothing is ever written, so that the file holds all of it. A failure costs memory only.
  if (__executable_start < end) {
    ::madvise(__executable_start, static_cast<std::size_t>(end - __executable_start), MADV_DONTNEED);
  }
}

}  // namespace tessera
