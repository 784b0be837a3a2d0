#include "tests/crash/die_steps.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tessera::crash {
namespace {

constexpr int kMaxDirs = 16;
constexpr int kMaxRules = 8;
constexpr int kMaxFiles = 256;
constexpr int kHighFd = 500;  // Descriptors of ours stay out of the program's way.

struct Rule {
  char call[80] = {};
  int error = 0;
  long from = 1;
  long seen = 0;
};

// A file with bytes that may be lost.
struct File {
  dev_t device = 0;
  ino_t inode = 0;
  int fd = -1;  // Of its own, so that it can be cut when the program has closed its.
  off_t synced = 0;
  off_t written = 0;  // The end of the last write since; 0: clean.
};

// Constant after Load().
struct Settings {
  bool active = false;
  pid_t pid = 0;
  char dirs[2 * kMaxDirs][PATH_MAX] = {};
  int dir_count = 0;
  int log = -1;
  long at = 0;
  bool after = false, lose = false, tear = false;
  const char* fail_when = nullptr;
};

Settings settings;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // Guards everything below.
long steps = 0;
Rule rules[kMaxRules];
int rule_count = 0;
File files[kMaxFiles];

// Raw, because the interposed names would come back here.
long Open(const char* path, int flags) {
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0644);
  if (fd < 0) return fd;
  const int high = ::fcntl(static_cast<int>(fd), F_DUPFD_CLOEXEC, kHighFd);
  if (high < 0) return fd;
  ::close(static_cast<int>(fd));
  return high;
}

bool ReadLink(const char* path, char* out, std::size_t size) {
  const ssize_t got = ::readlink(path, out, size - 1);
  if (got < 0) return false;
  out[got] = '\0';
  return true;
}

bool DescriptorPath(int fd, char* out, std::size_t size) {
  char link[40];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return ReadLink(link, out, size);
}

bool Below(const char* path) {
  for (int i = 0; i < settings.dir_count; ++i) {
    const std::size_t length = std::strlen(settings.dirs[i]);
    if (std::strncmp(path, settings.dirs[i], length) == 0 && (path[length] == '/' || path[length] == '\0')) return true;
  }
  return false;
}

// As given, and with its symbolic links resolved: descriptors know only the latter.
void AddDirectory(const char* text, std::size_t length) {
  while (length > 1 && text[length - 1] == '/') --length;
  if (length == 0 || length >= PATH_MAX || settings.dir_count + 2 > 2 * kMaxDirs) return;
  char* given = settings.dirs[settings.dir_count++];
  std::memcpy(given, text, length);
  char* resolved = settings.dirs[settings.dir_count];
  const long fd = Open(given, O_PATH | O_DIRECTORY);
  if (fd < 0) return;
  if (DescriptorPath(static_cast<int>(fd), resolved, PATH_MAX) && std::strcmp(resolved, given) != 0) {
    ++settings.dir_count;
  }
  ::close(static_cast<int>(fd));
}

int ErrorNumber(const char* name) {
  constexpr struct {
    const char* name;
    int number;
  } kErrors[] = {{"EACCES", EACCES}, {"EDQUOT", EDQUOT}, {"EIO", EIO},     {"EMFILE", EMFILE},
                 {"ENOENT", ENOENT}, {"ENOSPC", ENOSPC}, {"EPERM", EPERM}, {"EROFS", EROFS}};
  for (const auto& error : kErrors) {
    if (std::strcmp(error.name, name) == 0) return error.number;
  }
  return std::atoi(name);
}

// "write:ENOSPC:3".
void AddRule(const char* text, std::size_t length) {
  if (rule_count == kMaxRules || length >= sizeof(Rule::call)) return;
  Rule& rule = rules[rule_count];
  std::memcpy(rule.call, text, length);
  char* error = std::strchr(rule.call, ':');
  if (error == nullptr) return;
  *error++ = '\0';
  char* from = std::strchr(error, ':');
  if (from != nullptr) *from++ = '\0';
  rule.error = ErrorNumber(error);
  if (from != nullptr) rule.from = std::atol(from);
  ++rule_count;
}

void ForEachPart(const char* text, char separator, void (*add)(const char* part, std::size_t length)) {
  while (text != nullptr && *text != '\0') {
    const char* end = std::strchr(text, separator);
    add(text, end != nullptr ? static_cast<std::size_t>(end - text) : std::strlen(text));
    text = end != nullptr ? end + 1 : nullptr;
  }
}

bool IsOn(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && std::strcmp(value, "1") == 0;
}

bool IsTheProgram(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--nvml-host") == 0) return false;
  const char* wanted = std::getenv("TESSERA_DIE_EXE");
  if (wanted == nullptr) return true;
  char exe[PATH_MAX];
  if (!ReadLink("/proc/self/exe", exe, sizeof exe)) return false;
  const char* slash = std::strrchr(exe, '/');
  return std::strcmp(slash != nullptr ? slash + 1 : exe, wanted) == 0;
}

// glibc hands a constructor what main() gets.
[[gnu::constructor]] void Load(int argc, char** argv, char**) {
  const char* dirs = std::getenv("TESSERA_DIE_DIRS");
  if (dirs == nullptr || !IsTheProgram(argc, argv)) return;
  ForEachPart(dirs, ':', AddDirectory);
  ForEachPart(std::getenv("TESSERA_FAIL_CALL"), ',', AddRule);
  if (const char* log = std::getenv("TESSERA_DIE_LOG")) {
    settings.log = static_cast<int>(Open(log, O_WRONLY | O_APPEND | O_CREAT));
  }
  if (const char* at = std::getenv("TESSERA_DIE_AT")) settings.at = std::atol(at);
  settings.after = IsOn("TESSERA_DIE_AFTER");
  settings.lose = IsOn("TESSERA_DIE_LOSE");
  settings.tear = IsOn("TESSERA_DIE_TEAR");
  settings.fail_when = std::getenv("TESSERA_FAIL_WHEN");
  settings.pid = ::getpid();
  settings.active = true;
}

bool Active() { return settings.active && ::getpid() == settings.pid; }

// The file's entry; with `add`, a new one (of the first clean one's place when all are taken).
File* Find(int fd, const struct stat& status, bool add) {
  File* free = nullptr;
  for (File& file : files) {
    if (file.fd >= 0 && file.device == status.st_dev && file.inode == status.st_ino) return &file;
    if (free == nullptr && (file.fd < 0 || file.written == 0)) free = &file;
  }
  if (!add || free == nullptr) return nullptr;
  if (free->fd >= 0) ::close(free->fd);
  char link[40];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  // Not a duplicate: that would share the program's file locks and keep them after its close().
  *free = {.device = status.st_dev,
           .inode = status.st_ino,
           .fd = static_cast<int>(Open(link, O_WRONLY)),
           .synced = status.st_size};
  return free->fd >= 0 ? free : nullptr;
}

void CutUnsynced(const File& file) {
  struct stat status{};
  if (file.fd < 0 || file.written == 0 || ::fstat(file.fd, &status) != 0) return;
  // When it is longer than what we wrote, another process appended, and its sync covers our bytes as well.
  if (status.st_size > file.synced && status.st_size <= file.written) {
    ::syscall(SYS_ftruncate, file.fd, static_cast<long>(file.synced));
  }
}

}  // namespace

Place OfDescriptor(int fd) {
  Place place;
  if (!Active()) return place;
  const int saved = errno;
  place.counts = DescriptorPath(fd, place.path, sizeof place.path) && Below(place.path);
  errno = saved;
  return place;
}

Place OfPath(int directory, const char* path) {
  Place place;
  if (!Active() || path == nullptr) return place;
  const int saved = errno;
  std::size_t length = 0;
  if (path[0] != '/') {
    const bool known = directory == AT_FDCWD ? ReadLink("/proc/self/cwd", place.path, PATH_MAX)
                                             : DescriptorPath(directory, place.path, PATH_MAX);
    length = known ? std::strlen(place.path) : 0;
    if (length > 0) place.path[length++] = '/';
  }
  std::snprintf(place.path + length, sizeof place.path - length, "%s", path);
  place.counts = Below(place.path);
  errno = saved;
  return place;
}

int ScriptedFailure(const char* call, const char* family) {
  if (rule_count == 0) return 0;
  if (settings.fail_when != nullptr && ::syscall(SYS_faccessat, AT_FDCWD, settings.fail_when, F_OK) != 0) return 0;
  const StepLock lock;
  for (int i = 0; i < rule_count; ++i) {
    Rule& rule = rules[i];
    if (std::strcmp(rule.call, call) != 0 && std::strcmp(rule.call, family) != 0) continue;
    if (++rule.seen >= rule.from) return rule.error;
  }
  return 0;
}

StepLock::StepLock() { ::pthread_mutex_lock(&mutex); }
StepLock::~StepLock() { ::pthread_mutex_unlock(&mutex); }

bool BeginStep(const char* call, const Place& place) {
  ++steps;
  if (settings.log >= 0) {
    char line[2 * PATH_MAX + 64];
    const int length = std::snprintf(line, sizeof line, "%ld %s %s\n", steps, call, place.path);
    ::syscall(SYS_write, settings.log, line, static_cast<std::size_t>(length));
  }
  return steps == settings.at;
}

bool DiesAfter() { return settings.after; }
bool Tears() { return settings.tear; }

void BeforeWrite(int fd) {
  struct stat status{};
  if (settings.lose && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) Find(fd, status, true);
}

void AfterWrite(int fd) {
  const int saved = errno;
  struct stat status{};
  if (settings.lose && ::fstat(fd, &status) == 0) {
    if (File* file = Find(fd, status, false)) {
      file->written = status.st_size;
      file->synced = std::min(file->synced, status.st_size);  // What was cut off stays off.
    }
  }
  errno = saved;
}

void AfterSync(int fd) {
  struct stat status{};
  if (!settings.lose || ::fstat(fd, &status) != 0) return;
  if (File* file = Find(fd, status, false)) {
    file->synced = status.st_size;
    file->written = 0;
  }
}

void Die() {
  if (settings.lose) {
    for (const File& file : files) CutUnsynced(file);
  }
  Kill();
}

void Kill() {
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

}  // namespace tessera::crash
