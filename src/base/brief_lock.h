// base/brief_lock.h: for a mutex that others hold for microseconds only.
#pragma once

#include <mutex>

namespace tessera {

// Tries for some microseconds before it sleeps: being woken takes longer than most waits.
inline std::unique_lock<std::mutex> LockBriefly(std::mutex& mutex) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    if (std::unique_lock lock(mutex, std::try_to_lock); lock) return lock;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");  // Waits as long as x86's pause does; "yield" is nothing on most.
#endif
  }
  return std::unique_lock(mutex);
}

}  // namespace tessera
