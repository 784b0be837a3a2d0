// tests/crash/die_at_victim.cc: a program that stores one file the careful way, for tests of die_at.
//   die_at_victim DIR: DIR/log grows by a synced and an unsynced line, DIR/file is replaced.
// Exit code: 0, or the errno of the first call that failed.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

bool Put(int fd, const char* text) {
  const auto size = static_cast<ssize_t>(std::strlen(text));
  return ::write(fd, text, static_cast<std::size_t>(size)) == size;
}

bool Store(int dir) {
  const int log = ::openat(dir, "log", O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (log < 0 || !Put(log, "synced\n") || ::fdatasync(log) != 0 || !Put(log, "unsynced\n")) return false;
  const int file = ::openat(dir, "new", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || !Put(file, "content\n") || ::fsync(file) != 0) return false;
  ::close(file);
  return ::renameat(dir, "new", dir, "file") == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int dir = ::open(argv[argc - 1], O_DIRECTORY | O_RDONLY);
  return dir >= 0 && Store(dir) ? 0 : errno;
}
