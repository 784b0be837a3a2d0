#include "nvml/hosted_library.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "json/decode.h"
#include "nvml/host.h"
#include "nvml/locate.h"
#include "nvml/wire.h"

namespace tessera::nvml {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

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

// Initialisation and look-up may wake a GPU up, which takes seconds without persistence mode.
bool MayBeSlow(std::uint32_t function) {
  return function == Progress::kNoCall || function == static_cast<std::uint32_t>(Fn::nvmlInitWithFlags) ||
         function == static_cast<std::uint32_t>(Fn::nvmlInit_v2) ||
         function == static_cast<std::uint32_t>(Fn::nvmlDeviceGetHandleByIndex_v2);
}

// Calls without whose answer a GPU is not offered.
bool IsVital(Fn fn) {
  return fn == Fn::nvmlDeviceGetHandleByIndex_v2 || fn == Fn::nvmlDeviceGetUUID || fn == Fn::nvmlDeviceGetMinorNumber ||
         fn == Fn::nvmlDeviceGetMigMode;
}

std::string SecondsText(milliseconds time) { return Format("{:g} s", static_cast<double>(time.count()) / 1000); }

}  // namespace

// One child process: its socket, its page, its end.
class HostedLibrary::Host {
 public:
  static Result<std::unique_ptr<Host>> Start(const HostOptions& options) {
    auto host = std::unique_ptr<Host>(new Host);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return FromErrno(errno, "NvmlHost", "socketpair");
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

  ~Host() {
    if (pid_ > 0) End(milliseconds(0));
    if (progress_ != nullptr) ::munmap(progress_, sizeof(Progress));
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  int pid() const { return pid_; }
  int socket() const { return socket_.get(); }
  const Progress& progress() const { return *progress_; }

  // Ends it: a closed socket lets a listening host leave within `grace`, a signal ends any other. False when the
  // kernel does not let it die.
  bool End(milliseconds grace) {
    socket_.Reset();
    if (Reap(grace)) return true;
    ::kill(pid_, SIGKILL);
    return Reap(milliseconds(1'000));
  }

  // Takes note of its death within `wait`.
  bool Reap(milliseconds wait) {
    if (pid_ <= 0) return true;
    if (pidfd_) {
      pollfd poll{pidfd_.get(), POLLIN, 0};
      while (::poll(&poll, 1, static_cast<int>(wait.count())) < 0 && errno == EINTR) {
      }
    }
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0) return false;
    if (ended == pid_) status_ = status;  // Otherwise somebody who ignores SIGCHLD had it reaped, and nobody knows.
    pid_ = 0;
    return true;
  }

  bool left_by_itself() const { return status_ && WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0; }
  // How it ended: "was killed by signal 11 (Segmentation fault)".
  std::string EndText() const {
    if (!status_) return "ended, nobody knows how";
    if (WIFSIGNALED(*status_)) {
      return Format("was killed by signal {} ({})", WTERMSIG(*status_), ::strsignal(WTERMSIG(*status_)));
    }
    return Format("ended with code {}", WEXITSTATUS(*status_));
  }

 private:
  Host() = default;

  UniqueFd socket_;
  UniqueFd pidfd_;  // None on kernels before 5.3: then deaths are noticed a poll later.
  Progress* progress_ = nullptr;
  pid_t pid_ = 0;
  std::optional<int> status_;  // As waitpid() gave it.
};

HostedLibrary::HostedLibrary(HostOptions options)
    : options_([&] {
        if (options.driver_roots.empty()) options.driver_roots = DefaultDriverRoots();
        // Absolute, because links below a root are resolved inside it.
        for (auto& root : options.driver_roots) root = std::filesystem::absolute(root).lexically_normal();
        return std::move(options);
      }()) {}

HostedLibrary::~HostedLibrary() { Release(); }

void HostedLibrary::Release() {
  if (host_ && !host_->End(milliseconds(200))) abandoned_.push_back(std::move(host_));
  host_.reset();
}

int HostedLibrary::host_pid() const { return host_ ? host_->pid() : 0; }

Result<MachineFacts> HostedLibrary::Read() {
  const auto deadline = steady_clock::now() + options_.read_deadline;
  std::erase_if(abandoned_, [](const auto& host) { return host->Reap(milliseconds(0)); });
  std::erase_if(avoided_, [](const Avoided& a) { return a.until < steady_clock::now(); });
  lost_host_ = crossed_ = false;
  for (;;) {
    TESSERA_ASSIGN(auto facts, ReadOnce(deadline));
    if (!facts) continue;
    if (!ChangedShape(*facts)) return std::move(*facts);
    avoided_.clear();  // Indices mean other GPUs now.
  }
}

bool HostedLibrary::ChangedShape(const MachineFacts& facts) {
  // Not the bus ids: a GPU that is left out tells none.
  std::string shape = Format("{} {}", facts.driver_version, facts.gpus.size());
  const bool changed = !shape_.empty() && shape_ != shape;
  shape_ = std::move(shape);
  return changed && !avoided_.empty();
}

Result<std::optional<MachineFacts>> HostedLibrary::ReadOnce(steady_clock::time_point deadline) {
  if (host_ && host_->Reap(milliseconds(0))) host_.reset();  // It left while nobody needed it.
  if (!host_) {
    constexpr std::size_t kMostAbandoned = 4;
    if (abandoned_.size() >= kMostAbandoned) {
      return BadDevice("NvmlHost",
                       Format("{} NVML hosts hang in the kernel driver and cannot be killed", abandoned_.size()),
                       "drain the node and reboot it");
    }
    TESSERA_ASSIGN(host_, Host::Start(options_));
  }
  ReadRequest request;
  for (const auto& root : options_.driver_roots) request.driver_roots.push_back(root.string());
  for (const Avoided& avoided : avoided_) request.avoid.push_back(avoided.avoid);

  const auto sent = SendMessage(host_->socket(), json::PrintJson(json::Encode(request)));
  const auto message = sent.has_value() ? Await(deadline) : std::unexpected(sent.error());
  std::string failure = message.has_value() ? "sent nonsense" : message.error().message();
  if (message.has_value()) {
    const auto value = json::ParseJson(*message);
    auto answer = value.has_value() ? json::Decode<ReadAnswer>(*value) : std::unexpected(value.error());
    if (answer.has_value() && answer->facts) return std::move(answer->facts);
    if (answer.has_value() && answer->error) return std::unexpected(FromWire(*answer->error));
  }

  const std::uint32_t function = host_->progress().function.load(std::memory_order_acquire);
  const std::uint32_t gpu = host_->progress().gpu.load(std::memory_order_acquire);
  if (host_->Reap(milliseconds(100))) {
    if (host_->left_by_itself() && !std::exchange(crossed_, true)) return std::nullopt;  // It left as we asked.
    failure = host_->EndText();
  }
  lost_host_ = true;
  Release();
  TESSERA_TRY(Blame(function, gpu, failure));
  if (steady_clock::now() >= deadline) {
    return Transient("NvmlHost", Format("the NVML host {} in {}, and no time is left for another try", failure,
                                        Name(static_cast<Fn>(function))));
  }
  return std::nullopt;
}

Result<std::string> HostedLibrary::Await(steady_clock::time_point deadline) {
  const Progress& progress = host_->progress();
  Receiver receiver(host_->socket());
  std::uint32_t calls = progress.calls.load(std::memory_order_acquire);
  auto since = steady_clock::now();  // When the call in progress began, as far as we saw.
  for (;;) {
    const std::uint32_t function = progress.function.load(std::memory_order_acquire);
    // Once a host was lost, GPUs are awake or will not wake: eight that hang must not take eight times as long.
    const bool patient = MayBeSlow(function) && !lost_host_;
    const milliseconds limit = patient ? options_.slow_call_deadline : options_.call_deadline;
    // Looks up often enough to notice a hang within an eighth of its deadline.
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    TESSERA_ASSIGN(auto message, receiver.Receive(std::clamp(options_.call_deadline / 8, milliseconds(1),
                                                             std::max(left, milliseconds(1)))));
    if (message) return std::move(*message);

    const auto now = steady_clock::now();
    if (now >= deadline) {
      return Transient("NvmlHost", Format("was still busy after {}", SecondsText(options_.read_deadline)));
    }
    const std::uint32_t newest = progress.calls.load(std::memory_order_acquire);
    if (std::exchange(calls, newest) != newest) {
      since = now;  // As long as it makes calls, it lives.
    } else if (now - since >= limit) {
      return Transient("NvmlHost", Format("did not answer within {}", SecondsText(limit)));
    }
  }
}

// Decides what the next host leaves out, after one was lost in `function` on `gpu`. An error when leaving that out
// would leave nothing.
Result<void> HostedLibrary::Blame(std::uint32_t function, std::uint32_t gpu, const std::string& what) {
  if (function >= kFunctionCount) {
    return BadDevice("NvmlHost", Format("the NVML host {} outside any NVML call", what),
                     "check the driver library; run nvidia-smi on the node");
  }
  const Fn fn = static_cast<Fn>(function);
  if (fn == Fn::nvmlInitWithFlags || fn == Fn::nvmlInit_v2 || fn == Fn::nvmlDeviceGetCount_v2) {
    return BadDevice("NvmlHost", Format("{}: the NVML host {}", Name(fn), what),
                     "the driver does not respond: run nvidia-smi on the node, reload the driver or reboot");
  }
  Avoid avoid{std::string(Name(fn)), std::nullopt, "the NVML host " + what};
  log::Verbose(
      2, "Lost the NVML host, going on without that call",
      {{"function", Name(fn)}, {"gpu", gpu == Progress::kNoGpu ? -1 : static_cast<int>(gpu)}, {"reason", what}});
  if (gpu != Progress::kNoGpu && IsVital(fn)) {
    // Without it the GPU has no identity, so there is nothing else to ask it; the others keep the call.
    avoid.function = "*";
    avoid.gpu = gpu;
  } else if (gpu != Progress::kNoGpu) {
    const auto same_function = [&](const Avoided& a) { return a.avoid.function == avoid.function; };
    if (std::erase_if(avoided_, same_function) == 0) {  // The first GPU it fails on; with the second, on none again.
      avoid.gpu = gpu;
      if (std::ranges::any_of(avoided_, [&](const Avoided& a) { return a.avoid.gpu == gpu; })) avoid.function = "*";
    }
  }
  // A GPU that is left alone altogether says in which call that was decided.
  if (avoid.function == "*") avoid.reason = Format("{}: {}", Name(fn), avoid.reason);
  avoided_.push_back({std::move(avoid), steady_clock::now() + options_.avoid_for});
  return {};
}

}  // namespace tessera::nvml
