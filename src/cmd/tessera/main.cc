// The `tessera` program: reads flags, runs one command.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/tessera/devices.h"
#include "cmd/tessera/exit_codes.h"
#include "cmd/tessera/explain.h"
#include "cmd/tessera/lint.h"
#include "cmd/tessera/run.h"
#include "nvml/host.h"

namespace tessera::cmd {
namespace {

std::string DefaultNodeName() {
  if (const char* name = std::getenv("NODE_NAME"); name != nullptr && *name != '\0') return name;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) return "localhost";
  return Lower(host);
}

int Main(int argc, char** argv) {
  CLI::App app{"Tessera: NVIDIA GPUs for Kubernetes, and for the people who run them"};
  app.set_version_flag("--version", std::string("tessera ") + std::string(kVersion));
  app.require_subcommand(1);
  int verbosity = 0;
  std::string format = "text";
  app.fallthrough();  // These may stand behind the command as well.
  app.add_option("-v", verbosity, "Log verbosity, as in Kubernetes")->type_name("LEVEL")->check(CLI::Range(0, 10));
  app.add_option("--logging-format", format, "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
  DevicesOptions devices;
  AddDevices(app, devices);
  ExplainOptions explain;
  AddExplain(app, explain);
  LintOptions lint;
  AddLint(app, lint);
  RunOptions run;
  const CLI::App* run_command = AddRun(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return kExitFine;
    return run_command->parsed() ? kExitOurs : kExitUsage;
  }
  ::signal(SIGCHLD, SIG_DFL);  // Ignored by some parents; then nobody could tell how a child ended.
  log::Options logging{.format = format == "json" ? log::Format::kJson : log::Format::kText, .verbosity = verbosity};
  // Standard error is the command's, unless somebody wants to know.
  if (run_command->parsed() && verbosity == 0) logging.sink = [](std::string_view) {};
  log::Configure(std::move(logging));
  if (run_command->parsed()) {
    run.node_name = DefaultNodeName();
    return RunRun(std::move(run));
  }
  if (app.got_subcommand("explain")) return RunExplain(explain);
  if (app.got_subcommand("lint")) return RunLint(lint);
  if (devices.view.node_name.empty()) devices.view.node_name = DefaultNodeName();
  devices.view.color = ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return RunDevices(std::move(devices));
}

}  // namespace
}  // namespace tessera::cmd

int main(int argc, char** argv) {
  if (const auto code = tessera::nvml::RunHostIfAsked(argc, argv)) return *code;
  return tessera::cmd::Main(argc, argv);
}
