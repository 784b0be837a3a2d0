// bench/process.h: another program under measurement, and what the kernel says of it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace tessera::bench {

double ResidentKib(pid_t pid);       // 0 when it is gone.
std::size_t Threads(pid_t pid);      // Likewise.
std::size_t Descriptors(pid_t pid);  // Likewise.
std::vector<pid_t> Children(pid_t pid);
std::size_t FilesIn(const std::filesystem::path& directory);  // Of any kind, below subdirectories too.

// A child process; its standard error goes to `log`. Killed when it goes out of scope.
class Process {
 public:
  static Result<Process> Start(std::vector<std::string> command, const std::filesystem::path& log);
  Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Process& operator=(Process&&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }
  void Terminate();  // SIGTERM, and waits.

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

}  // namespace tessera::bench
