#include "inspect/simulated_root.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/text.h"

namespace tessera::inspect {
namespace {

namespace fs = std::filesystem;

Result<fs::path> SimulatorProgram() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path program = self.parent_path() / "tessera-sim";
  if (error || !fs::exists(program, error)) {
    return BadConfig("NoSimulator", Format("{} is not there", program.string()),
                     "install tessera-sim beside tessera (make install does)");
  }
  return program;
}

// Runs a program without a shell and waits for it; its exit code.
Result<int> Run(const fs::path& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program.filename().string());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return FromErrno(error, "NoSimulator", "starting " + program.string());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return FromErrno(errno, "SimulatorFailed", "waiting for " + program.string());
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<TempDir> MakeSimulatedRoot(const std::string& profile) {
  TESSERA_ASSIGN(const fs::path program, SimulatorProgram());
  TESSERA_ASSIGN(TempDir root, TempDir::Create("tessera-sim"));
  TESSERA_ASSIGN(const int code,
                 Run(program, {"create", "--quiet", "--profile", profile, "--root", root.path().string()}));
  if (code != 0) {
    return BadConfig("SimulatorFailed",
                     Format("tessera-sim could not make the machine {} (exit code {})", Quote(profile), code),
                     "tessera-sim profiles lists what there is");
  }
  return root;
}

}  // namespace tessera::inspect
