#include "nvml/host_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "nvml/host.h"
#include "nvml/locate.h"

namespace tessera::nvml {
namespace {

using std::chrono::milliseconds;

// Above the numbers that the host expects, so that moving one into place never overwrites the other.
UniqueFd MoveUp(UniqueFd fd) { return fd ? UniqueFd{::fcntl(fd.get(), F_DUPFD_CLOEXEC, 10)} : UniqueFd(); }

// How to start a program: its descriptors, and no signal blocked or ignored because ours is.
struct SpawnPlan {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnPlan() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
};

Result<int> Spawn(const HostOptions& options, int socket, int page) {
  SpawnPlan plan;
  // The driver library may print; our standard output belongs to our own program.
  ::posix_spawn_file_actions_addopen(&plan.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&plan.files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&plan.files, socket, kHostSocket);
  ::posix_spawn_file_actions_adddup2(&plan.files, page, kHostPage);
  std::vector<std::string> arguments = HostArguments(::getpid(), options.idle);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, options.program.c_str(), &plan.files, &plan.attributes, argv.data(), environ);
  if (error != 0) return FromErrno(error, "NvmlHost", "starting the NVML host " + options.program.string());
  return pid;
}

// Waits for the end of a process; whether it came is for waitpid() to say.
void AwaitEnd(int pidfd, milliseconds wait) {
  pollfd poll{pidfd, POLLIN, 0};
  while (::poll(&poll, 1, static_cast<int>(wait.count())) < 0 && errno == EINTR) {
  }
}

}  // namespace

HostOptions WithRoots(HostOptions options) {
  if (options.driver_roots.empty()) options.driver_roots = DefaultDriverRoots();
  for (auto& root : options.driver_roots) root = std::filesystem::absolute(root).lexically_normal();
  return options;
}

bool MayBeSlow(std::uint32_t function) {
  return function == Progress::kNoCall || function == static_cast<std::uint32_t>(Fn::nvmlInitWithFlags) ||
         function == static_cast<std::uint32_t>(Fn::nvmlInit_v2) ||
         function == static_cast<std::uint32_t>(Fn::nvmlDeviceGetHandleByIndex_v2);
}

std::string SecondsText(milliseconds time) { return Format("{:g} s", static_cast<double>(time.count()) / 1000); }

Result<std::unique_ptr<HostProcess>> HostProcess::Start(const HostOptions& options) {
  auto host = std::unique_ptr<HostProcess>(new HostProcess);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return FromErrno(errno, "NvmlHost", "socketpair");
  }
  host->socket_ = MoveUp(UniqueFd{ends[0]});
  const UniqueFd theirs = MoveUp(UniqueFd{ends[1]});
  const UniqueFd page = MoveUp(UniqueFd{::memfd_create("nvml-host", MFD_CLOEXEC)});
  if (!host->socket_ || !theirs || !page || ::ftruncate(page.get(), sizeof(Progress)) != 0) {
    return FromErrno(errno, "NvmlHost", "preparing the NVML host");
  }
  void* memory = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, page.get(), 0);
  if (memory == MAP_FAILED) return FromErrno(errno, "NvmlHost", "mmap");
  host->progress_ = new (memory) Progress;
  TESSERA_ASSIGN(host->pid_, Spawn(options, theirs.get(), page.get()));
  host->pidfd_ = UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, host->pid_, 0))};
  return host;
}

HostProcess::~HostProcess() {
  if (pid_ > 0 && !ended_) End(milliseconds(0));
  if (progress_ != nullptr) ::munmap(progress_, sizeof(Progress));
}

bool HostProcess::End(milliseconds grace) {
  socket_.Reset();
  if (Reap(grace)) return true;
  ::kill(pid_, SIGKILL);
  return Reap(milliseconds(1'000));
}

bool HostProcess::Reap(milliseconds wait) {
  if (ended_) return true;
  if (pidfd_) AwaitEnd(pidfd_.get(), wait);
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0) return false;
  if (ended == pid_) status_ = status;  // Otherwise somebody who ignores SIGCHLD had it reaped, and nobody knows.
  ended_ = true;
  return true;
}

bool HostProcess::Kill(milliseconds wait) const {
  if (!pidfd_) return false;
  // Through the descriptor, which stays what it is: the number may be somebody else's once the owner has reaped it.
  if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0) != 0 && errno == ESRCH) return true;
  pollfd poll{pidfd_.get(), POLLIN, 0};
  return ::poll(&poll, 1, static_cast<int>(wait.count())) == 1;
}

bool HostProcess::left_by_itself() const { return status_ && WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0; }

bool HostProcess::was_killed() const { return status_ && WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL; }

std::string HostProcess::EndText() const {
  if (!status_) return "ended, nobody knows how";
  if (WIFSIGNALED(*status_)) {
    return Format("was killed by signal {} ({})", WTERMSIG(*status_), ::strsignal(WTERMSIG(*status_)));
  }
  return Format("ended with code {}", WEXITSTATUS(*status_));
}

Result<void> HostKeeper::Start(const HostOptions& options) {
  constexpr std::size_t kMostAbandoned = 4;
  Reap();
  if (abandoned_.size() >= kMostAbandoned) {
    return BadDevice("NvmlHost",
                     Format("{} NVML hosts hang in the kernel driver and cannot be killed", abandoned_.size()),
                     "drain the node and reboot it");
  }
  TESSERA_ASSIGN(host_, HostProcess::Start(options));
  return {};
}

void HostKeeper::End(milliseconds grace) {
  if (host_ && !host_->End(grace)) abandoned_.push_back(host_);
  host_.reset();
}

void HostKeeper::Reap() {
  std::erase_if(abandoned_, [](const auto& host) { return host->Reap(milliseconds(0)); });
  if (host_ && host_->Reap(milliseconds(0))) host_.reset();
}

}  // namespace tessera::nvml
