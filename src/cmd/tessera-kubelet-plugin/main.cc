// The node plugin: reads flags, runs until it is told to stop.
#include <malloc.h>
#include <signal.h>

#include <cstdio>
#include <thread>

#include "base/log.h"
#include "cmd/tessera-kubelet-plugin/flags.h"
#include "driver/agent.h"
#include "nvml/host.h"

namespace tessera::cmd {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

// Waits for a signal to stop, on a thread of its own: nothing else is done in signal context. The signals are blocked
// everywhere, so it must be made before any other thread.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1}) sigaddset(&signals_, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::jthread([this] {
      int signal = 0;
      ::sigwait(&signals_, &signal);
      stop_.request_stop();
    });
  }
  ~StopSignals() { ::pthread_kill(thread_.native_handle(), SIGUSR1); }  // Should nobody have asked.
  StopSignals(const StopSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source stop_;
  std::jthread thread_;  // Last: joins first.
};

int Main(int argc, char** argv) {
  auto flags = ParseFlags(argc, argv);
  if (!flags) {
    std::fprintf(stderr, "tessera-kubelet-plugin: %s\n", flags.error().Text().c_str());
    return kExitUsage;
  }
  if (!flags->text.empty()) {
    std::fputs(flags->text.c_str(), stdout);
    return 0;
  }
  ::mallopt(M_ARENA_MAX, 2);  // A node agent has no use for an arena per thread, and they cost megabytes.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);  // Ignored by some parents; then nobody could tell how a child ended.
  const StopSignals signals;
  log::Configure(flags->log);
  for (const std::string& warning : flags->warnings) log::Warning("Configuration", {{"warning", warning}});
  if (auto ran = driver::RunAgent(std::move(flags->agent), signals.token()); !ran) {
    log::Failure(ran.error(), "Could not start");
    return kExitFailed;
  }
  return 0;
}

}  // namespace
}  // namespace tessera::cmd

int main(int argc, char** argv) {
  if (const auto code = tessera::nvml::RunHostIfAsked(argc, argv)) return *code;
  return tessera::cmd::Main(argc, argv);
}
