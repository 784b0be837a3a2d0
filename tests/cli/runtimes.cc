#include "tests/cli/runtimes.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace tessera::tests {
namespace {

namespace fs = std::filesystem;

// Device nodes and mounts are root's, and some machines that run tests do not let even root make them.
bool MayMakeContainers() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::geteuid() == 0 && ::unshare(CLONE_NEWNS) == 0 ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace

bool HasMixedCgroups() { return fs::exists("/sys/fs/cgroup/unified"); }

std::vector<std::string> WithUnifiedCgroups(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{
      "--mount", "sh",
      "-c",      R"(umount --recursive /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@")",
      "sh",      program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

std::optional<std::string> WhyNot(const std::string& runtime) {
  if (!fs::exists("/usr/bin/" + runtime) && !fs::exists("/usr/sbin/" + runtime)) return runtime + " is not installed";
  if (!MayMakeContainers()) return "containers cannot be made here";
  return std::nullopt;
}

}  // namespace tessera::tests
