// tests/crash/die_steps.h: counts the durable steps of a process and ends it at one of them. Start with die_at.cc.
//
// Read from the environment when the library is loaded:
//
//   TESSERA_DIE_DIRS   directories, colon-separated: only what happens below them counts
//   TESSERA_DIE_LOG    a file to which each step is appended before it happens: "3 fdatasync /dir/file"
//   TESSERA_DIE_AT     the step, counted from 1, before which the process is killed
//   TESSERA_DIE_AFTER  1: killed just after it instead
//   TESSERA_DIE_LOSE   1: files that grew since their last sync are cut back first, as after a power loss
//   TESSERA_DIE_TEAR   1: when the step is a write, its first half is done (and nothing is lost)
//   TESSERA_DIE_EXE    only a program of this file name counts
//   TESSERA_FAIL_CALL  calls that fail: "write:ENOSPC", "open:EROFS,rename:EIO:3" (from the third on). The names are
//                      those of the log; write, open, rename, unlink, sync, mkdir and link stand for their variants too
//   TESSERA_FAIL_WHEN  only while this file exists
//
// NVML hosts (nvml/host.h) and children that were forked without exec do not count. Nothing here allocates or needs
// libstdc++. What is rewritten in place or cut off without a sync is not undone: no file of ours is treated so.
#pragma once

#include <climits>
#include <cstddef>

namespace tessera::crash {

// Where a call would leave its trace.
struct Place {
  bool counts = false;
  char path[2 * PATH_MAX] = {};
};
Place OfDescriptor(int fd);
Place OfPath(int directory, const char* path);

// The errno with which the call is to fail, or 0.
int ScriptedFailure(const char* call, const char* family);

// One step at a time: held from the number of a step to its end, so that numbers and effects have one order.
class StepLock {
 public:
  StepLock();
  ~StepLock();
  StepLock(const StepLock&) = delete;
  StepLock& operator=(const StepLock&) = delete;
};

// Under the lock: numbers and logs a step. Whether it is the last.
bool BeginStep(const char* call, const Place& place);
bool DiesAfter();
bool Tears();

// Under the lock: what Die() needs to know about unsynced bytes.
void BeforeWrite(int fd);
void AfterWrite(int fd);
void AfterSync(int fd);

[[noreturn]] void Die();   // Loses what is to be lost, then as Kill().
[[noreturn]] void Kill();  // SIGKILL.

}  // namespace tessera::crash
