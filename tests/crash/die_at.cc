// tests/crash/die_at.cc: an LD_PRELOAD library that counts the calls which make a process's state durable or visible,
// and kills it at one of them, or lets them fail. What it takes from the environment is in die_steps.h.
//
// Calls that libc makes on its own behalf (stdio's, dprintf's) do not come by here; ours are made directly.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "tests/crash/die_steps.h"

namespace {

using namespace tessera::crash;

// libc's own, or a sanitizer's. The variants without a directory go through those with one.
struct Next {
  decltype(&::write) write;
  decltype(&::pwrite) pwrite;
  decltype(&::writev) writev;
  decltype(&::fsync) fsync;
  decltype(&::fdatasync) fdatasync;
  decltype(&::ftruncate) ftruncate;
  decltype(&::fallocate) fallocate;
  decltype(&::openat) openat;
  decltype(&::renameat2) renameat2;
  decltype(&::unlinkat) unlinkat;
  decltype(&::mkdirat) mkdirat;
  decltype(&::linkat) linkat;
  decltype(&::symlinkat) symlinkat;
};

template <class Function>
void Find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// Also called by libraries that are initialised before this one; then there is one thread only.
const Next& TheNext() {
  static constinit Next next{};
  if (next.symlinkat == nullptr) {
    Find(next.write, "write");
    Find(next.pwrite, "pwrite");
    Find(next.writev, "writev");
    Find(next.fsync, "fsync");
    Find(next.fdatasync, "fdatasync");
    Find(next.ftruncate, "ftruncate");
    Find(next.fallocate, "fallocate");
    Find(next.openat, "openat");
    Find(next.renameat2, "renameat2");
    Find(next.unlinkat, "unlinkat");
    Find(next.mkdirat, "mkdirat");
    Find(next.linkat, "linkat");
    Find(next.symlinkat, "symlinkat");
  }
  return next;
}

// Makes the call, as a step where it counts. `tear` does half of it, and is false when there are no halves.
template <class Make, class Tear>
auto Step(const char* call, const char* family, const Place& place, Make make, Tear tear) -> decltype(make()) {
  if (!place.counts) return make();
  if (const int error = ScriptedFailure(call, family)) {
    errno = error;
    return -1;
  }
  const StepLock lock;
  const bool last = BeginStep(call, place);
  if (last && Tears() && tear()) Kill();
  if (last && !DiesAfter()) Die();
  const auto result = make();
  if (last) Die();
  return result;
}

template <class Make>
auto Step(const char* call, const char* family, const Place& place, Make make) {
  return Step(call, family, place, make, [] { return false; });
}

template <class Make, class Tear>
ssize_t WriteStep(const char* call, int fd, Make make, Tear tear) {
  const auto noted = [&] {
    BeforeWrite(fd);
    const ssize_t result = make();
    AfterWrite(fd);
    return result;
  };
  const Place place = OfDescriptor(fd);
  return place.counts ? Step(call, "write", place, noted, tear) : make();
}

// What makes a file longer or shorter is lost like a write.
template <class Make>
int ResizeStep(const char* call, int fd, Make make) {
  return static_cast<int>(WriteStep(call, fd, [&]() -> ssize_t { return make(); }, [] { return false; }));
}

template <class Make>
int SyncStep(const char* call, int fd, Make make) {
  const auto noted = [&] {
    const int result = make();
    if (result == 0) AfterSync(fd);
    return result;
  };
  const Place place = OfDescriptor(fd);
  return place.counts ? Step(call, "sync", place, noted) : make();
}

int OpenStep(const char* call, int directory, const char* path, int flags, mode_t mode) {
  const auto make = [&] { return TheNext().openat(directory, path, flags, mode); };
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  if (!writes && !changes) return make();
  const Place place = OfPath(directory, path);
  if (changes || !place.counts) return Step(call, "open", place, make);
  // Opening what exists leaves no trace, but a read-only file system refuses it.
  if (const int error = ScriptedFailure(call, "open")) {
    errno = error;
    return -1;
  }
  return make();
}

mode_t ModeOf(int flags, va_list arguments) {
  const bool given = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return given ? va_arg(arguments, mode_t) : 0;
}

int RenameStep(const char* call, int from_dir, const char* from, int to_dir, const char* to, unsigned flags) {
  Place place = OfPath(to_dir, to);
  if (!place.counts) place = OfPath(from_dir, from);
  return Step(call, "rename", place, [&] { return TheNext().renameat2(from_dir, from, to_dir, to, flags); });
}

int UnlinkStep(const char* call, int directory, const char* path, int flags) {
  return Step(call, "unlink", OfPath(directory, path), [&] { return TheNext().unlinkat(directory, path, flags); });
}

int MkdirStep(const char* call, int directory, const char* path, mode_t mode) {
  return Step(call, "mkdir", OfPath(directory, path), [&] { return TheNext().mkdirat(directory, path, mode); });
}

int LinkStep(const char* call, int from_dir, const char* from, int to_dir, const char* to, int flags) {
  return Step(call, "link", OfPath(to_dir, to), [&] { return TheNext().linkat(from_dir, from, to_dir, to, flags); });
}

int SymlinkStep(const char* call, const char* target, int directory, const char* path) {
  return Step(call, "link", OfPath(directory, path), [&] { return TheNext().symlinkat(target, directory, path); });
}

ssize_t PwriteStep(int fd, const void* data, std::size_t size, off_t offset) {
  return WriteStep(
      "pwrite", fd, [&] { return TheNext().pwrite(fd, data, size, offset); },
      [&] { return TheNext().pwrite(fd, data, size / 2, offset) >= 0; });
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t size) {
  return WriteStep(
      "write", fd, [&] { return TheNext().write(fd, data, size); },
      [&] { return TheNext().write(fd, data, size / 2) >= 0; });
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) { return PwriteStep(fd, data, size, offset); }
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) { return PwriteStep(fd, data, size, offset); }
ssize_t writev(int fd, const iovec* parts, int count) {
  return WriteStep(
      "writev", fd, [&] { return TheNext().writev(fd, parts, count); },
      [&] { return count > 0 && TheNext().write(fd, parts[0].iov_base, parts[0].iov_len / 2) >= 0; });
}

int fsync(int fd) {
  return SyncStep("fsync", fd, [&] { return TheNext().fsync(fd); });
}
int fdatasync(int fd) {
  return SyncStep("fdatasync", fd, [&] { return TheNext().fdatasync(fd); });
}
int ftruncate(int fd, off_t size) noexcept {
  return ResizeStep("ftruncate", fd, [&] { return TheNext().ftruncate(fd, size); });
}
int ftruncate64(int fd, off64_t size) noexcept { return ::ftruncate(fd, size); }
int fallocate(int fd, int mode, off_t offset, off_t size) {
  return ResizeStep("fallocate", fd, [&] { return TheNext().fallocate(fd, mode, offset, size); });
}
int fallocate64(int fd, int mode, off64_t offset, off64_t size) { return ::fallocate(fd, mode, offset, size); }

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenStep("open", AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenStep("open", AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenStep("openat", directory, path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenStep("openat", directory, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
  return OpenStep("creat", AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int rename(const char* from, const char* to) noexcept { return RenameStep("rename", AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_dir, const char* from, int to_dir, const char* to) noexcept {
  return RenameStep("renameat", from_dir, from, to_dir, to, 0);
}
int renameat2(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) noexcept {
  return RenameStep("renameat2", from_dir, from, to_dir, to, flags);
}

int unlink(const char* path) noexcept { return UnlinkStep("unlink", AT_FDCWD, path, 0); }
int unlinkat(int directory, const char* path, int flags) noexcept {
  return UnlinkStep("unlinkat", directory, path, flags);
}
int rmdir(const char* path) noexcept { return UnlinkStep("rmdir", AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
  const int result = UnlinkStep("remove", AT_FDCWD, path, 0);
  return result != 0 && errno == EISDIR ? UnlinkStep("remove", AT_FDCWD, path, AT_REMOVEDIR) : result;
}

int mkdir(const char* path, mode_t mode) noexcept { return MkdirStep("mkdir", AT_FDCWD, path, mode); }
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  return MkdirStep("mkdirat", directory, path, mode);
}
int link(const char* from, const char* to) noexcept { return LinkStep("link", AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int from_dir, const char* from, int to_dir, const char* to, int flags) noexcept {
  return LinkStep("linkat", from_dir, from, to_dir, to, flags);
}
int symlink(const char* target, const char* path) noexcept { return SymlinkStep("symlink", target, AT_FDCWD, path); }
int symlinkat(const char* target, int directory, const char* path) noexcept {
  return SymlinkStep("symlinkat", target, directory, path);
}

}  // extern "C"
