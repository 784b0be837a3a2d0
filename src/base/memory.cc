#include "base/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

// Where the linker put the program's text.
extern "C" const char __executable_start[];  // NOLINT(bugprone-reserved-identifier): the linker's name for it.
extern "C" const char etext[];

namespace tessera {

void ReleaseUnusedMemory() {
  ::malloc_trim(0);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(__executable_start);
  const auto end = reinterpret_cast<std::uintptr_t>(etext) / page * page;
  // Up to the end of the text nothing is ever written, so that the file holds all of it. A failure costs memory only.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tessera
