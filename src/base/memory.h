// base/memory.h: what a process that starts once and then mostly waits need not keep.
#pragma once

namespace tessera {

// Gives freed heap memory back to the system, and lets go of the program's text: starting touches nearly all of it, the
// steady state little, which comes back from the page cache by a fault of a microsecond. Safe at any time.
void ReleaseUnusedMemory();

}  // namespace tessera
