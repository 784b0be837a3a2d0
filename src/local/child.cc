#include "local/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace tessera::local {
namespace {

constexpr std::array kEnding{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kPassedOn{SIGUSR1, SIGUSR2, SIGWINCH};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::unexpected<Error> CannotRun(int number, const std::string& program) {
  if (number == ENOENT) {
    return BadConfig("CommandNotFound", Format("there is no program {}", Quote(program)));
  }
  return FromErrno(number, "CommandNotRunnable", Format("starting {}", Quote(program)));
}

// Between fork() and exec() of a program with threads: nothing that allocates or locks. An errno goes to `report`.
[[noreturn]] void Become(const Command& command, char* const* arguments, char* const* environment, pid_t parent,
                         const sigset_t& mask, int report) {
  ::prctl(PR_SET_PDEATHSIG, command.death_signal);
  if (::getppid() != parent) ::_exit(kNotRunnable);  // Killed before it could tell us.
  for (const int fd : command.inherited) ::fcntl(fd, F_SETFD, 0);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvpe(arguments[0], arguments, environment);
  const int number = errno;
  (void)!::write(report, &number, sizeof number);
  ::_exit(kNotFound);
}

// The errno of an exec that failed, or 0.
int ReadReport(int fd) {
  int number = 0;
  ssize_t got = 0;
  do {
    got = ::read(fd, &number, sizeof number);
  } while (got < 0 && errno == EINTR);
  return got == sizeof number ? number : 0;
}

// Of a file in memory, whoever's place in it is where.
std::string StartOf(int fd) {
  std::string text(kMaxAnswer, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

int ExitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

SignalHold::SignalHold() {
  ::sigemptyset(&held_);
  ::sigaddset(&held_, SIGCHLD);
  for (const int signal : kEnding) ::sigaddset(&held_, signal);
  for (const int signal : kPassedOn) ::sigaddset(&held_, signal);
  ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

SignalHold::~SignalHold() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> SignalHold::Pending() const {
  sigset_t pending;
  ::sigpending(&pending);
  for (const int signal : kEnding) {
    if (::sigismember(&pending, signal) == 1) return signal;
  }
  return std::nullopt;
}

Result<int> RunToEnd(Command command, const SignalHold& signals) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FromErrno(errno, "CommandNotRunnable", "making a pipe");
  const UniqueFd read_end{ends[0]};
  UniqueFd write_end{ends[1]};
  const std::vector<char*> arguments = Pointers(command.arguments), environment = Pointers(command.environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return FromErrno(errno, "CommandNotRunnable", "starting a process");
  if (child == 0) {
    Become(command, arguments.data(), environment.data(), parent, signals.before(), write_end.get());
  }
  write_end.Reset();
  const int failure = ReadReport(read_end.get());
  for (;;) {
    int status = 0;
    if (::waitpid(child, &status, failure != 0 ? 0 : WNOHANG) == child) {
      if (failure != 0) return CannotRun(failure, command.arguments.front());
      return ExitCode(status);
    }
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&signals.held(), &info);
    // The kernel sends what is typed at a terminal to the whole group.
    if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL) ::kill(child, signal);
  }
}

Answer Ask(std::vector<std::string> arguments) {
  const UniqueFd out{::memfd_create("out", MFD_CLOEXEC)}, err{::memfd_create("err", MFD_CLOEXEC)};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&files, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, err.get(), STDERR_FILENO);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failure =
      ::posix_spawnp(&child, arguments.front().c_str(), &files, &attributes, Pointers(arguments).data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (failure != 0) return {failure == ENOENT ? kNotFound : kNotRunnable, {}, ::strerror(failure)};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return {kNotRunnable, {}, ::strerror(errno)};
  }
  return {ExitCode(status), StartOf(out.get()), StartOf(err.get())};
}

std::string FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : Split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    const std::string program = Format("{}/{}", directory, name);
    std::error_code ignored;
    if (!directory.empty() && ::access(program.c_str(), X_OK) == 0 &&
        std::filesystem::is_regular_file(program, ignored)) {
      return program;
    }
  }
  return {};
}

}  // namespace tessera::local
