// tessera-cdi-hook: the OCI createContainer hooks that CDI specs for NVIDIA GPUs name.
//
// It runs on the host as root, before the container starts, on files that the image's author chose. Hence it is linked
// statically and takes nothing from its environment or its working directory (CVE-2025-23266); see container_root.h
// for how it treats the files, and hooks.h for what it does.
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/text.h"
#include "base/version.h"
#include "cmd/tessera-cdi-hook/hooks.h"

namespace tessera::hook {
namespace {

constexpr unsigned kTimeLimitSeconds = 60;  // The kubelet gives a container's creation two minutes.

struct Hook {
  std::string_view name;
  Result<void> (*run)(Arguments);
};

constexpr std::array kHooks{
    Hook{"create-symlinks", CreateSymlinks},
    Hook{"update-ldcache", UpdateLdcache},
    Hook{"enable-cuda-compat", EnableCudaCompat},
    Hook{"disable-device-node-modification", DisableDeviceNodeModification},
    Hook{"update-application-profile", UpdateApplicationProfile},
};

void GiveUp(int) {
  constexpr std::string_view kMessage = "tessera-cdi-hook: gave up: not done within 60 seconds\n";
  static_cast<void>(!::write(STDERR_FILENO, kMessage.data(), kMessage.size()));
  ::_exit(1);
}

void Isolate() {
  ::clearenv();
  ::umask(0);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);  // What a runtime leaked is not ours to hold. Linux 5.9; no harm without.
  struct sigaction action{};
  action.sa_handler = GiveUp;
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::alarm(kTimeLimitSeconds);
}

void Say(std::string_view line) {
  std::fprintf(stderr, "tessera-cdi-hook: %.*s\n", static_cast<int>(line.size()), line.data());
}

int Run(Arguments arguments) {
  // nvidia-cdi-hook's own flags stand in front of the subcommand. There is nothing to turn up or down here.
  while (!arguments.empty() && (arguments[0] == "--debug" || arguments[0] == "--quiet")) {
    arguments = arguments.subspan(1);
  }
  if (!arguments.empty() && arguments[0] == "--version") return std::puts(std::string(kVersion).c_str()) < 0 ? 1 : 0;
  if (arguments.empty() || arguments[0].starts_with('-')) {
    Say("usage: tessera-cdi-hook create-symlinks|update-ldcache|enable-cuda-compat|"
        "disable-device-node-modification|update-application-profile [--flag value]…, container state on stdin");
    return 2;
  }
  for (const Hook& hook : kHooks) {
    if (hook.name != arguments[0]) continue;
    const Result<void> done = hook.run(arguments.subspan(1));
    if (done.has_value()) return 0;
    Say(Format("{}: {}", hook.name, done.error().Text()));
    return 1;
  }
  // A spec of a newer version must not keep containers from starting.
  Say(Format("warning: hook {} is not known here and was skipped", Quote(arguments[0])));
  return 0;
}

}  // namespace
}  // namespace tessera::hook

int main(int argc, char** argv) {
  tessera::hook::Isolate();
  try {
    const std::vector<std::string_view> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    return tessera::hook::Run(arguments);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tessera-cdi-hook: %s\n", e.what());
    return 1;
  }
}
