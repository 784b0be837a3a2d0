// Writes what it was given and what it can reach into the cache it was asked to make. Fails when told to by the image.
#include <dirent.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  if (argc != 5 || std::strcmp(argv[3], "-C") != 0) return 7;
  if (::access("/fail", F_OK) == 0) return 3;
  std::FILE* const cache = std::fopen(argv[4], "w");
  if (cache == nullptr) return 8;
  for (int i = 0; i < argc; ++i) std::fprintf(cache, "arg %s\n", argv[i]);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    std::fprintf(cache, "env %s\n", *variable);
  }
  std::fprintf(cache, "pid %d\n", ::getpid());
  std::fprintf(cache, "may mount %d\n", ::prctl(PR_CAPBSET_READ, 21 /* CAP_SYS_ADMIN */, 0, 0, 0));
  for (int fd = 3; fd < 64; ++fd) {
    if (::lseek(fd, 0, SEEK_CUR) >= 0 && fd != ::fileno(cache)) std::fprintf(cache, "fd %d\n", fd);
  }
  DIR* const root = ::opendir("/..");
  while (const dirent* entry = root != nullptr ? ::readdir(root) : nullptr) {
    if (entry->d_name[0] != '.') std::fprintf(cache, "sees /%s\n", entry->d_name);
  }
  return std::fclose(cache) == 0 ? 0 : 9;
}
