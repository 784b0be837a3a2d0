#include "bench/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

// A number of /proc/PID/status, such as "VmRSS".
std::uint64_t StatusNumber(pid_t pid, std::string_view name) {
  const auto status = ReadFile(Format("/proc/{}/status", pid));
  if (!status) return 0;
  for (const std::string_view line : Split(*status, '\n')) {
    const auto pair = Cut(line, ":");
    if (!pair || pair->first != name) continue;
    const std::string_view value = Trim(pair->second);
    return ParseNumber<std::uint64_t>(value.substr(0, value.find(' '))).value_or(0);
  }
  return 0;
}

template <class Iterator>
std::size_t CountEntries(const fs::path& directory) {
  std::size_t count = 0;
  std::error_code error;
  for (Iterator entry(directory, error); !error && entry != Iterator(); entry.increment(error)) ++count;
  return count;
}

}  // namespace

double ResidentKib(pid_t pid) { return static_cast<double>(StatusNumber(pid, "VmRSS")); }
std::size_t Threads(pid_t pid) { return StatusNumber(pid, "Threads"); }

std::size_t Descriptors(pid_t pid) { return CountEntries<fs::directory_iterator>(Format("/proc/{}/fd", pid)); }

std::vector<pid_t> Children(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code error;
  for (const auto& task : fs::directory_iterator(Format("/proc/{}/task", pid), error)) {
    const std::string list = ReadFile(task.path() / "children").value_or("");
    for (const std::string_view child : Split(list, ' ')) {
      if (const auto number = ParseNumber<pid_t>(Trim(child))) children.push_back(*number);
    }
  }
  return children;
}

std::size_t FilesIn(const fs::path& directory) { return CountEntries<fs::recursive_directory_iterator>(directory); }

Result<Process> Process::Start(std::vector<std::string> command, const fs::path& log) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return FromErrno(error, "NoProgram", "starting " + command.front());
  return Process(pid);
}

Process::~Process() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::Terminate() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace tessera::bench
