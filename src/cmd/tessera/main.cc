// The `tessera` program: reads flags, runs one command.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/tessera/devices.h"
#include "cmd/tessera/exit_codes.h"
#include "cmd/tessera/run.h"
#include "nvml/host.h"

namespace tessera::cmd {
namespace {

constexpr const char* kDevicesExamples = R"(Examples:
  tessera devices                              the GPUs of this machine
  tessera devices -o wide                      with UUIDs, links and PCIe
  tessera devices -o slices                    the ResourceSlices this node would publish
  tessera devices --driver-root /run/nvidia/driver
  tessera devices --simulate dgx-h100          a simulated machine (tessera-sim profiles lists them)
  tessera devices --record machine.json        everything that was read, for a bug report
  tessera devices --history                    how the devices of finished claims were when these ended

Exit codes: 0 fine, 1 no driver or another problem, 2 usage, 4 some device could not be read.)";

constexpr const char* kRunExamples = R"(Examples:
  tessera run -f claim.yaml -- python train.py              this machine's files, only the claim's GPUs
  tessera run -f claim.yaml --image IMAGE -- nvidia-smi -L  a container of an image
  tessera run -f claim.yaml --runtime none -- ./job         a process; CUDA_VISIBLE_DEVICES is all it gets
  tessera run -f claim.yaml --simulate dgx-h100 -- nvidia-smi -L

Runtimes: auto, podman, docker, containerd (nerdctl or ctr), crun, runc, none. The first three want --image.

Exit codes: the command's own, or 128 and the signal that ended it; 125 when the claim does not fit or something of ours
failed, 126 when the command cannot be run, 127 when there is none of that name.)";

std::string DefaultNodeName() {
  if (const char* name = std::getenv("NODE_NAME"); name != nullptr && *name != '\0') return name;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) return "localhost";
  return Lower(host);
}

void AddDevices(CLI::App& app, DevicesOptions& options) {
  static const std::map<std::string, inspect::DevicesFormat> kFormats{{"table", inspect::DevicesFormat::kTable},
                                                                      {"wide", inspect::DevicesFormat::kWide},
                                                                      {"json", inspect::DevicesFormat::kJson},
                                                                      {"yaml", inspect::DevicesFormat::kYaml},
                                                                      {"slices", inspect::DevicesFormat::kSlices}};
  CLI::App* devices = app.add_subcommand("devices", "List the GPUs and MIG devices of this machine");
  devices->footer(kDevicesExamples);
  devices->add_option("-o,--output", options.view.format, "table, wide, json, yaml or slices")
      ->transform(CLI::CheckedTransformer(kFormats, CLI::ignore_case).description(""))
      ->type_name("FORMAT");
  CLI::Option* root = devices->add_option("--driver-root", options.driver_root,
                                          "Where the NVIDIA driver is installed; default: / and /run/nvidia/driver");
  root->type_name("DIR")->check(CLI::ExistingDirectory);
  CLI::Option* sysfs = devices->add_option("--sysfs-root", options.sysfs_root, "Where sysfs is mounted");
  sysfs->type_name("DIR")->capture_default_str();
  devices->add_option("--node-name", options.view.node_name, "Node for -o slices; default: $NODE_NAME or the host name")
      ->type_name("NAME")
      ->check(CLI::Validator(
          [](const std::string& name) { return IsDnsSubdomain(name) ? "" : name + " is no node name"; }, ""));
  devices->add_option("--timeout", options.timeout_seconds, "Seconds after which a driver that hangs is given up")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  CLI::Option* simulate = devices->add_option("--simulate", options.simulate, "Show a simulated machine instead");
  simulate->type_name("PROFILE")->excludes(root)->excludes(sysfs);
  devices->add_option("--record", options.record, "Also write everything that was read to FILE")->type_name("FILE");
  devices->add_option("--replay", options.replay, "Show what such a FILE holds instead")
      ->type_name("FILE")
      ->excludes(root)
      ->excludes(sysfs)
      ->excludes(simulate);
  CLI::Option* history =
      devices->add_flag("--history", options.history, "Show how the devices of finished claims were instead");
  history->excludes(root)->excludes(sysfs)->excludes(simulate);
  devices
      ->add_option(
          "--plugin-dir", options.plugin_dir,
          "The kubelet plugin's directory: health, --history; default: /var/lib/kubelet/plugins/gpu.nvidia.com")
      ->type_name("DIR");
  devices->add_option("--verdicts-dir", options.verdicts_dir, "Its --health-verdicts-dir, where it has one")
      ->type_name("DIR")
      ->excludes(history);
}

CLI::App* AddRun(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a command with the GPUs of a claim, without a cluster");
  run->footer(kRunExamples);
  run->add_option("-f,--file", options.files, "ResourceClaims or ResourceClaimTemplates; may be repeated")
      ->type_name("FILE")
      ->required();
  run->add_option("--class-file", options.class_files, "DeviceClasses, beside those that the Helm chart installs")
      ->type_name("FILE");
  run->add_option("--runtime", options.runtime, "What the command runs in")
      ->type_name("RUNTIME")
      ->check(CLI::IsMember({"auto", "podman", "docker", "containerd", "nerdctl", "ctr", "crun", "runc", "none"})
                  .description(""))
      ->capture_default_str();
  run->add_option("--image", options.image, "The image of its container; default: this machine's own files")
      ->type_name("IMAGE");
  run->add_option("--runtime-option", options.runtime_options,
                  "An option for the runtime, such as --runtime-option=--volume=/data:/data; may be repeated")
      ->type_name("OPTION");
  CLI::Option* root = run->add_option("--driver-root", options.driver_root,
                                      "Where the NVIDIA driver is installed; default: / and /run/nvidia/driver");
  root->type_name("DIR")->check(CLI::ExistingDirectory);
  CLI::Option* sysfs = run->add_option("--sysfs-root", options.sysfs_root, "Where sysfs is mounted; default: /sys");
  sysfs->type_name("DIR");
  run->add_option("--simulate", options.simulate, "Use a simulated machine instead")
      ->type_name("PROFILE")
      ->excludes(root)
      ->excludes(sysfs);
  run->add_option("--state-dir", options.state_dir, "Where runs know of each other; default: see docs/run.md")
      ->type_name("DIR");
  run->add_option("--cdi-dir", options.cdi_dir, "Where the claim's CDI file goes; default: see docs/run.md")
      ->type_name("DIR");
  run->add_option("--machine-leases", options.machine_leases, "Where runs of different users know of each other")
      ->type_name("FILE")
      ->capture_default_str();
  run->add_option("--timeout", options.timeout_seconds, "Seconds after which a driver that hangs is given up")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  run->add_option("command", options.command, "The command and its arguments, after --")
      ->type_name("COMMAND")
      ->required();
  run->positionals_at_end();
  return run;
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
  if (devices.history && devices.view.format == inspect::DevicesFormat::kSlices) {
    std::fputs("tessera: --history has no -o slices\n", stderr);
    return kExitUsage;
  }
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
