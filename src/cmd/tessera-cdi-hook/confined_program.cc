#include "cmd/tessera-cdi-hook/confined_program.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace tessera::hook {
namespace {

constexpr off_t kMaxProgram = off_t{64} << 20;
constexpr unsigned kMemfdExec = 0x10;  // MFD_EXEC, Linux 6.3: says that we mean it where vm.memfd_noexec asks.

std::unexpected<Error> Failed(std::string_view doing) { return FromErrno(errno, "LdcacheFailed", doing); }

Result<UniqueFd> CopyToMemory(const std::string& path) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return FromErrno(errno, "NoLdconfig", "opening the host's " + path);
  if (!S_ISREG(status.st_mode) || status.st_size > kMaxProgram) {
    return BadConfig("NoLdconfig", Format("the host's {} is not a program", path));
  }
  UniqueFd copy{::memfd_create("ldconfig", MFD_CLOEXEC | MFD_ALLOW_SEALING | kMemfdExec)};
  if (!copy && errno == EINVAL) copy.Reset(::memfd_create("ldconfig", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy) return Failed("making a memory file for ldconfig");
  for (off_t done = 0; done < status.st_size;) {
    const ssize_t put = ::sendfile(copy.get(), file.get(), &done, static_cast<std::size_t>(status.st_size - done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return Failed("copying the host's " + path);
  }
  if (::fcntl(copy.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return Failed("sealing the copy of ldconfig");
  }
  return copy;
}

bool IsStatic(int program) {
  Elf64_Ehdr header{};
  if (::pread(program, &header, sizeof header, 0) != sizeof header) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    const off_t at = static_cast<off_t>(header.e_phoff + i * sizeof part);
    if (::pread(program, &part, sizeof part, at) != sizeof part || part.p_type == PT_INTERP) return false;
  }
  return true;
}

// Makes the working directory, the container's root, the root of everything this process can name.
Result<void> EnterRoot() {
  if (::syscall(SYS_pivot_root, ".", ".") == 0) {
    // The host's root now lies on top of the container's; "." finds the topmost. See pivot_root(2).
    if (::umount2(".", MNT_DETACH) != 0) return Failed("leaving the host's root");
  } else {
    // A host that runs from its initramfs has no root that could be pivoted.
    if (errno != EINVAL) return Failed("entering the container's root");
    if (::mount(".", "/", nullptr, MS_MOVE, nullptr) != 0) {
      return BadConfig("LdcacheFailed", "the container's root is not a mount point",
                       "this program is a createContainer hook, to be started by an OCI runtime");
    }
    if (::chroot(".") != 0) return Failed("entering the container's root");
  }
  if (::chdir("/") != 0) return Failed("entering the container's root");
  return {};
}

// The program reads an image's files as root, so it keeps no more than writing next to them needs. This comes on top
// of the namespaces, where a refusal changes nothing.
void DropPrivileges() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (int capability = 0; capability <= CAP_LAST_CAP; ++capability) {
    if (capability != CAP_DAC_OVERRIDE && capability != CAP_FOWNER) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
}

// Returns only when something failed.
Result<void> BecomeProgram(int program, std::span<const char* const> arguments,
                           const std::function<Result<void>(const ContainerRoot&)>& prepare) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!null || ::dup2(null.get(), STDIN_FILENO) < 0) return Failed("opening /dev/null");
  TESSERA_ASSIGN(SelfFds self, SelfFds::Open());  // The host's: the container's may be absent or a fake.
  TESSERA_TRY(EnterRoot());
  TESSERA_ASSIGN(const ContainerRoot root, ContainerRoot::AfterPivot(std::move(self)));
  TESSERA_TRY(prepare(root));
  DropPrivileges();
  std::vector<char*> argv;
  for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));  // execve's old signature.
  argv.push_back(nullptr);
  char* const environment[] = {nullptr};
  ::syscall(SYS_execveat, program, "", argv.data(), environment, AT_EMPTY_PATH);
  return Failed("executing the copy of ldconfig");
}

Result<void> Await(pid_t child, int problems) {
  const auto problem = ReadToEnd(problems, 65536, "the child's answer");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return Failed("waiting for ldconfig");
  }
  if (problem.has_value() && !problem->empty()) return BadConfig("LdcacheFailed", *problem);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return BadConfig("LdcacheFailed", WIFEXITED(status) ? Format("ldconfig failed with status {}", WEXITSTATUS(status))
                                                      : Format("ldconfig died of signal {}", WTERMSIG(status)));
}

}  // namespace

Result<UniqueFd> SealProgram(const std::string& path) {
  TESSERA_ASSIGN(UniqueFd copy, CopyToMemory(path));
  if (!IsStatic(copy.get())) {
    return BadConfig("NoLdconfig", Format("the host's {} is not a statically linked program", path),
                     "name one with --ldconfig-path; anything else would run code of the image");
  }
  return copy;
}

Result<void> RunConfined(const ContainerRoot& root, int program, std::span<const char* const> arguments,
                         const std::function<Result<void>(const ContainerRoot&)>& prepare) {
  TESSERA_TRY(root.WithOwnMounts(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS));
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return Failed("making a pipe");
  const UniqueFd problems{pipe_ends[0]};
  UniqueFd report{pipe_ends[1]};
  const pid_t child = ::fork();
  if (child < 0) return Failed("starting a process");
  if (child == 0) {
    const auto failure = BecomeProgram(program, arguments, prepare);
    static_cast<void>(WriteAll(report.get(), failure.error().Text()));
    ::_exit(1);
  }
  report.Reset();
  return Await(child, problems.get());
}

}  // namespace tessera::hook
